//! The weights built into the program: parsed in place, only the small tensors are copied.
//!
//! `tools/model/README.md` describes the file.

use crate::DIMENSIONS;
use crate::tile::Panel;
use crate::wide::{Kernel, widest};

static FILE: &[u8] = include_bytes!("../model/weights.bin");

pub(crate) const LAYERS: usize = 6;
pub(crate) const INNER: usize = 4 * DIMENSIONS;
pub(crate) const POSITIONS: usize = 256;
/// Number of weights that share a scale.
pub(crate) const BLOCK: usize = 32;
/// Number of matrix outputs stored side by side.
pub(crate) const PANEL: usize = 16;

const MAGIC: &[u8] = b"REMORAEM\x01\0\0\0";
const ENTRY: usize = 64;
const ROW_SCALES: usize = DIMENSIONS / BLOCK * 2;
const ROW: usize = ROW_SCALES + DIMENSIONS;
const PANEL_SCALES: usize = PANEL * 2;
pub(crate) const PANEL_BLOCK: usize = PANEL_SCALES + PANEL * BLOCK;

#[derive(Debug)]
pub(crate) struct Weights {
    pub(crate) words: Rows,
    pub(crate) positions: Rows,
    pub(crate) norm: Norm,
    pub(crate) layers: Vec<Layer>,
}

#[derive(Debug)]
pub(crate) struct Layer {
    /// Queries, keys and values of all heads, one after the other.
    pub(crate) attention: Linear,
    pub(crate) projection: Linear,
    pub(crate) attention_norm: Norm,
    pub(crate) expansion: Linear,
    pub(crate) contraction: Linear,
    pub(crate) output_norm: Norm,
}

#[derive(Debug)]
pub(crate) struct Linear {
    pub(crate) matrix: Matrix,
    pub(crate) bias: Vec<f32>,
}

#[derive(Debug)]
pub(crate) struct Norm {
    pub(crate) gain: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

/// A table of embeddings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    rows: &'static [[u8; ROW]],
}

impl Rows {
    /// Adds a row to `sum`.
    pub(crate) fn add(self, row: usize, sum: &mut [f32]) {
        let (scales, steps) = self.rows[row].split_at(ROW_SCALES);
        let blocks = scales.as_chunks::<2>().0.iter().zip(steps.as_chunks::<BLOCK>().0);
        for ((scale, steps), sum) in blocks.zip(sum.as_chunks_mut::<BLOCK>().0) {
            let scale = bfloat16(*scale);
            for (sum, step) in sum.iter_mut().zip(steps) {
                *sum += f32::from(step.cast_signed()) * scale;
            }
        }
    }
}

/// A matrix, split into panels of 16 outputs, each panel into blocks of 32 inputs, and each block into pairs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Matrix {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    blocks: &'static [[u8; PANEL_BLOCK]],
}

impl Matrix {
    /// Unpacks a part of a panel: the weights of its 16 outputs for the inputs from `first` on.
    pub(crate) fn unpack(self, panel: usize, first: usize, unpacked: &mut Panel) {
        let start = (panel * self.inputs + first) / BLOCK;
        widest(Unpack { blocks: &self.blocks[start..], unpacked });
    }
}

struct Unpack<'a> {
    blocks: &'a [[u8; PANEL_BLOCK]],
    unpacked: &'a mut Panel,
}

impl Kernel for Unpack<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Panel { weights, scales } = self.unpacked;
        for ((block, weights), scales) in self.blocks.iter().zip(weights).zip(scales) {
            let (scale_bytes, steps) = block.split_at(PANEL_SCALES);
            for (scale, bytes) in scales.as_flattened_mut().iter_mut().zip(scale_bytes.as_chunks().0) {
                *scale = bfloat16(*bytes);
            }
            for (weight, step) in weights.as_flattened_mut().as_flattened_mut().iter_mut().zip(steps) {
                *weight = i16::from(step.cast_signed());
            }
        }
    }
}

/// The upper half of an `f32`.
#[inline(always)]
fn bfloat16(bytes: [u8; 2]) -> f32 {
    f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16)
}

impl Weights {
    /// # Panics
    /// If the file is not the one this code was written for. It is built into the program, and tests read it.
    pub(crate) fn embedded() -> Self {
        let mut tensors = Tensors::of(FILE);
        let weights = Self {
            words: tensors.rows("words"),
            positions: tensors.rows("positions"),
            norm: tensors.norm("norm"),
            layers: (0..LAYERS).map(|layer| Layer::read(&mut tensors, layer)).collect(),
        };
        assert!(tensors.table.is_empty(), "the model has more tensors than are used");
        assert_eq!(weights.positions.rows.len(), POSITIONS);
        weights
    }
}

impl Layer {
    fn read(tensors: &mut Tensors, layer: usize) -> Self {
        Self {
            attention: tensors.linear(&format!("{layer}.attention"), DIMENSIONS, 3 * DIMENSIONS),
            projection: tensors.linear(&format!("{layer}.projection"), DIMENSIONS, DIMENSIONS),
            attention_norm: tensors.norm(&format!("{layer}.attention_norm")),
            expansion: tensors.linear(&format!("{layer}.expansion"), DIMENSIONS, INNER),
            contraction: tensors.linear(&format!("{layer}.contraction"), INNER, DIMENSIONS),
            output_norm: tensors.norm(&format!("{layer}.output_norm")),
        }
    }
}

/// The tensors of the file, taken one after the other.
struct Tensors {
    file: &'static [u8],
    table: &'static [[u8; ENTRY]],
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Kind {
    F32 = 0,
    Rows = 1,
    Panels = 2,
}

impl Tensors {
    fn of(file: &'static [u8]) -> Self {
        assert!(file.starts_with(MAGIC), "not a model of this format");
        let count = number(&file[MAGIC.len()..]);
        let table = file[MAGIC.len() + 4..].as_chunks().0;
        Self { file, table: &table[..count] }
    }

    /// The rows, columns and data of the next tensor, which must have this name.
    fn next(&mut self, name: &str, kind: Kind) -> (usize, usize, &'static [u8]) {
        let (entry, rest) = self.table.split_first().expect("the model ends too early");
        self.table = rest;
        let (found, numbers) = entry.split_at(40);
        let end = found.iter().position(|&byte| byte == 0).unwrap_or(found.len());
        assert_eq!(&found[..end], name.as_bytes());
        let [found, rows, columns, length, offset] =
            [0, 4, 8, 12, 16].map(|at: usize| number(&numbers[at..]));
        assert_eq!(found, kind as usize, "the kind of {name}");
        (rows, columns, &self.file[offset..offset + length])
    }

    fn floats(&mut self, name: &str) -> Vec<f32> {
        let (_, columns, data) = self.next(name, Kind::F32);
        assert_eq!(data.len(), columns * 4);
        data.as_chunks().0.iter().copied().map(f32::from_le_bytes).collect()
    }

    fn rows(&mut self, name: &str) -> Rows {
        let (rows, columns, data) = self.next(name, Kind::Rows);
        assert_eq!((columns, data.len()), (DIMENSIONS, rows * ROW));
        Rows { rows: data.as_chunks().0 }
    }

    fn linear(&mut self, name: &str, inputs: usize, outputs: usize) -> Linear {
        let (rows, columns, data) = self.next(&format!("{name}.weights"), Kind::Panels);
        assert_eq!((rows, columns), (outputs, inputs));
        assert_eq!(data.len(), outputs / PANEL * (inputs / BLOCK) * PANEL_BLOCK);
        let matrix = Matrix { inputs, outputs, blocks: data.as_chunks().0 };
        let bias = self.floats(&format!("{name}.bias"));
        assert_eq!(bias.len(), outputs);
        Linear { matrix, bias }
    }

    fn norm(&mut self, name: &str) -> Norm {
        let norm =
            Norm { gain: self.floats(&format!("{name}.gain")), bias: self.floats(&format!("{name}.bias")) };
        assert_eq!((norm.gain.len(), norm.bias.len()), (DIMENSIONS, DIMENSIONS));
        norm
    }
}

/// The number at the start of `bytes`. Offsets are 64 bits wide in the file; the upper half is zero.
fn number(bytes: &[u8]) -> usize {
    bytes.first_chunk().copied().map(u32::from_le_bytes).map_or(0, |number| number as usize)
}
