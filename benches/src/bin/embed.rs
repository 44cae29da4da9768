//! Measures the cost of embedding a text, the distance to the original model, and the cost of a scan over 100,000
//! vectors.
//!
//! Run by `scripts/bench`. Times are for one thread unless stated otherwise.

use std::error::Error;
use std::hint::black_box;
use std::io::Write as _;
use std::time::{Duration, Instant};

use remora_embed::{DIMENSIONS, Embedder, MAX_TOKENS, Query, Scan, StoredVector, Vector, tokens};
use serde::Deserialize;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const STORED: usize = 100_000;
const NEIGHBOURS: usize = 10;

#[derive(Deserialize)]
struct Reference {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    text: String,
    embedding: Vec<f32>,
}

/// The matrix products of the model's six layers in straightforward code, as a baseline.
struct Product {
    tokens: usize,
    input: Vec<f32>,
    weights: Vec<f32>,
}

impl Product {
    const WIDE: usize = 4 * DIMENSIONS;

    fn new(tokens: usize) -> Self {
        Self {
            tokens,
            input: vec![0.5; tokens * Self::WIDE],
            weights: vec![0.25; 6 * 12 * DIMENSIONS * DIMENSIONS],
        }
    }

    fn run(&self) -> f32 {
        let mut sum = 0.0;
        for layer in self.weights.chunks_exact(12 * DIMENSIONS * DIMENSIONS) {
            // Query, key, value and output; then up to four times the width, and down again.
            let (square, rest) = layer.split_at(4 * DIMENSIONS * DIMENSIONS);
            for weights in square.chunks_exact(DIMENSIONS * DIMENSIONS) {
                sum += self.multiply(weights, DIMENSIONS, DIMENSIONS);
            }
            let (up, down) = rest.split_at(rest.len() / 2);
            sum += self.multiply(up, DIMENSIONS, Self::WIDE) + self.multiply(down, Self::WIDE, DIMENSIONS);
        }
        sum
    }

    fn multiply(&self, weights: &[f32], inner: usize, columns: usize) -> f32 {
        let mut output = vec![0.0; self.tokens * columns];
        for (row, output) in output.chunks_exact_mut(columns).enumerate() {
            let input = &self.input[row * inner..][..inner];
            for (value, weights) in input.iter().zip(weights.chunks_exact(columns)) {
                for (output, weight) in output.iter_mut().zip(weights) {
                    *output += value * weight;
                }
            }
        }
        black_box(&output)[0]
    }
}

fn main() -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nembedding a text")?;
    let before = resident()?;
    let start = Instant::now();
    let mut embedder = Embedder::new();
    black_box(embedder.embed("the first text", MAX_TOKENS));
    writeln!(out, "  the first of a process    {:>8}", milliseconds(start.elapsed()))?;
    let long = "the cache is invalidated when a file changes on disk ".repeat(40);
    for (count, runs) in [(16, 200), (48, 100), (64, 100), (256, 30)] {
        let time = time(runs, || embedder.embed(&long, count));
        writeln!(out, "  {count:>3} tokens                {time}")?;
    }
    let product = Product::new(16);
    let plain = time(20, || product.run());
    writeln!(out, "  (the products of 16 tokens, plainly in f32: {plain})")?;
    drop(product);
    writeln!(out, "  resident memory           {:>5} MB, {} MB before", resident()? / 1024, before / 1024)?;

    let reference: Reference = serde_json::from_str(include_str!(
        "../../../crates/remora-embed/tests/fixtures/minilm-reference.json"
    ))?;
    let texts: Vec<&str> = reference.cases.iter().map(|case| case.text.as_str()).collect();
    let short: Vec<&str> = texts
        .iter()
        .copied()
        .filter(|text| (8..=24).contains(&tokens(text).len()))
        .cycle()
        .take(240)
        .collect();
    let mean = short.iter().map(|text| tokens(text).len()).sum::<usize>() / short.len();
    for threads in [1, 2] {
        for (name, batch) in [("one by one", 1), ("in batches of 16", 16)] {
            let rate = rate(&short, threads, batch);
            writeln!(out, "  texts of {mean} tokens, {name}, on {threads} thread(s): {rate:.0} a second")?;
        }
    }

    writeln!(out, "\nbeside the original model, {} texts", texts.len())?;
    let ours = embedder.embed_batch(&texts, MAX_TOKENS);
    let theirs: Vec<Vector> =
        reference.cases.iter().filter_map(|case| case.embedding.as_slice().try_into().ok()).collect();
    let cosines = || ours.iter().zip(&theirs).map(|(ours, theirs)| cosine(ours, theirs));
    writeln!(out, "  least cosine              {:.6}", cosines().fold(1.0, f32::min))?;
    writeln!(
        out,
        "  mean cosine               {:.6}",
        cosines().sum::<f32>() / f32::from(u16::try_from(texts.len())?)
    )?;
    writeln!(out, "  common among the {NEIGHBOURS} nearest {:.3}", agreement(&ours, &theirs))?;

    writeln!(out, "\nthe 50 nearest of {STORED} vectors")?;
    // 1,024 is typical for a model over the network.
    for dimensions in [DIMENSIONS, 1_024] {
        let (values, scales) = many(dimensions);
        let vector: Vec<f32> = ours[0].iter().copied().cycle().take(dimensions).collect();
        let query = Query::new(&vector);
        for threads in [1, 2] {
            let scan = Scan { query: &query, values: &values, scales: &scales, count: 50, threads };
            let time = time(100, || scan.best(|_| true));
            writeln!(out, "  {dimensions:>4} numbers, {threads} thread(s) {time}")?;
        }
    }
    Ok(())
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// Median and minimum. The difference shows how much other processes interfere.
fn time<T>(runs: usize, mut work: impl FnMut() -> T) -> String {
    let mut times: Vec<_> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            black_box(work());
            start.elapsed()
        })
        .collect();
    times.sort();
    format!("{:>8}, at best {}", milliseconds(times[runs / 2]), milliseconds(times[0]))
}

/// Throughput in texts a second.
fn rate(texts: &[&str], threads: usize, batch: usize) -> f64 {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for share in texts.chunks(texts.len().div_ceil(threads)) {
            scope.spawn(move || {
                let mut embedder = Embedder::new();
                for texts in share.chunks(batch) {
                    black_box(embedder.embed_batch(texts, MAX_TOKENS));
                }
            });
        }
    });
    f64::from(u32::try_from(texts.len()).unwrap_or(0)) / start.elapsed().as_secs_f64()
}

fn cosine(a: &Vector, b: &Vector) -> f32 {
    let product = |a: &Vector, b: &Vector| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    product(a, b) / (product(a, a) * product(b, b)).sqrt()
}

/// The share of nearest texts that both models agree on.
fn agreement(ours: &[Vector], theirs: &[Vector]) -> f64 {
    let common: usize = (0..ours.len())
        .map(|of| {
            let theirs = nearest(theirs, of);
            nearest(ours, of).iter().filter(|found| theirs.contains(found)).count()
        })
        .sum();
    f64::from(u32::try_from(common).unwrap_or(0))
        / f64::from(u32::try_from(ours.len() * NEIGHBOURS).unwrap_or(1))
}

fn nearest(vectors: &[Vector], of: usize) -> Vec<usize> {
    let mut others: Vec<_> = (0..vectors.len()).filter(|other| *other != of).collect();
    others.sort_by(|a, b| cosine(&vectors[of], &vectors[*b]).total_cmp(&cosine(&vectors[of], &vectors[*a])));
    others.truncate(NEIGHBOURS);
    others
}

/// Random vectors.
fn many(dimensions: usize) -> (Vec<i8>, Vec<f32>) {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f32::from(u16::try_from(state >> 48).unwrap_or(0)) / 65_536.0 - 0.5
    };
    let (mut values, mut scales) = (Vec::with_capacity(STORED * dimensions), Vec::with_capacity(STORED));
    for _ in 0..STORED {
        let vector: Vec<f32> = (0..dimensions).map(|_| next()).collect();
        let stored = StoredVector::new(&vector);
        values.extend(stored.values);
        scales.push(stored.scale);
    }
    (values, scales)
}

/// Resident memory of this process in kB; 0 if unknown.
fn resident() -> Result<u64> {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return Ok(0) };
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0 kB");
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
