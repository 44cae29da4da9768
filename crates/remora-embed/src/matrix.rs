//! Matrix products: activations by weights in integers, and the small products of attention in floating point.

use crate::elementwise::{Round, Rounded};
use crate::tile::{DEPTH, Panel, Row, tile};
use crate::weights::{Matrix, PANEL};
use crate::wide::{multiply_add, widest};

/// Six rows of sixteen columns fill twelve of the sixteen vector registers of AVX2.
const TILE: usize = 6;

/// `sums += inputs · matrix`, row by row. `rounded` is a buffer.
pub(crate) fn multiply(inputs: &[f32], matrix: Matrix, rounded: &mut Rounded, sums: &mut [f32]) {
    widest(Round { rows: inputs, width: matrix.inputs, rounded });
    let mut panel = Panel::EMPTY;
    // A strip of the inputs stays in the L2 cache while all panels are processed.
    for first in (0..matrix.inputs).step_by(DEPTH) {
        for column in (0..matrix.outputs).step_by(PANEL) {
            matrix.unpack(column / PANEL, first, &mut panel);
            let mut out = Out { sums, stride: matrix.outputs, column };
            let whole = rounded.scales.len() / TILE * TILE;
            for row in (0..whole).step_by(TILE) {
                add::<TILE>(rounded, row, first, &panel, &mut out);
            }
            match rounded.scales.len() - whole {
                5 => add::<5>(rounded, whole, first, &panel, &mut out),
                4 => add::<4>(rounded, whole, first, &panel, &mut out),
                3 => add::<3>(rounded, whole, first, &panel, &mut out),
                2 => add::<2>(rounded, whole, first, &panel, &mut out),
                1 => add::<1>(rounded, whole, first, &panel, &mut out),
                _ => {}
            }
        }
    }
}

struct Out<'a> {
    sums: &'a mut [f32],
    stride: usize,
    column: usize,
}

fn add<const ROWS: usize>(rounded: &Rounded, row: usize, first: usize, panel: &Panel, out: &mut Out<'_>) {
    let width = rounded.values.len() / rounded.scales.len();
    let rows: [&Row; ROWS] = std::array::from_fn(|i| {
        let start = (row + i) * width + first;
        rounded.values[start..start + DEPTH]
            .as_chunks()
            .0
            .as_chunks()
            .0
            .first_chunk()
            .expect("a row is that wide")
    });
    for (i, sums) in tile(rows, panel).iter().enumerate() {
        let start = (row + i) * out.stride + out.column;
        for (total, sum) in out.sums[start..start + PANEL].iter_mut().zip(sums.as_flattened()) {
            *total += sum * rounded.scales[row + i];
        }
    }
}

/// Sixteen columns of the right operand.
pub(crate) type Columns<const DEPTH: usize> = [[f32; PANEL]; DEPTH];

/// Rows of the left operand: row `i` begins at `start + i * stride`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Left<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) stride: usize,
    pub(crate) start: usize,
    pub(crate) rows: usize,
}

impl Left<'_> {
    #[inline(always)]
    fn row<const DEPTH: usize>(&self, row: usize) -> &[f32; DEPTH] {
        let (row, _) =
            self.values[self.start + row * self.stride..].as_chunks().0.split_first().expect("a whole row");
        row
    }
}

/// Multiplies all rows by one panel and adds the result to `sums` (rows of `stride`), starting at `column`.
#[inline(always)]
pub(crate) fn strip<const FUSED: bool, const DEPTH: usize>(
    left: Left<'_>,
    panel: &Columns<DEPTH>,
    sums: &mut [f32],
    stride: usize,
    column: usize,
) {
    let mut row = 0;
    while row + TILE <= left.rows {
        float_tile::<FUSED, DEPTH, TILE>(left, row, panel, sums, stride, column);
        row += TILE;
    }
    match left.rows - row {
        5 => float_tile::<FUSED, DEPTH, 5>(left, row, panel, sums, stride, column),
        4 => float_tile::<FUSED, DEPTH, 4>(left, row, panel, sums, stride, column),
        3 => float_tile::<FUSED, DEPTH, 3>(left, row, panel, sums, stride, column),
        2 => float_tile::<FUSED, DEPTH, 2>(left, row, panel, sums, stride, column),
        1 => float_tile::<FUSED, DEPTH, 1>(left, row, panel, sums, stride, column),
        _ => {}
    }
}

#[inline(always)]
fn float_tile<const FUSED: bool, const DEPTH: usize, const ROWS: usize>(
    left: Left<'_>,
    row: usize,
    panel: &Columns<DEPTH>,
    sums: &mut [f32],
    stride: usize,
    column: usize,
) {
    let rows: [&[f32; DEPTH]; ROWS] = std::array::from_fn(|i| left.row(row + i));
    let mut held = [[0.0; PANEL]; ROWS];
    for depth in 0..DEPTH {
        let right = &panel[depth];
        for i in 0..ROWS {
            let factor = rows[i][depth];
            for j in 0..PANEL {
                held[i][j] = multiply_add::<FUSED>(factor, right[j], held[i][j]);
            }
        }
    }
    for (i, held) in held.iter().enumerate() {
        let start = (row + i) * stride + column;
        for (sum, held) in sums[start..start + PANEL].iter_mut().zip(held) {
            *sum += held;
        }
    }
}
