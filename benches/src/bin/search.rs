//! Measures search over HTTP: by words and meaning together, with and without filters, and by date alone; and the
//! memory that the daemon needs for it.
//!
//! `search [OBSERVATIONS…]` fills a store with this many observations (10,000 and 100,000 by default), four documents
//! and vectors each, with a natural distribution of word frequencies, and sends queries of 14 tokens to a daemon.

use std::io::Write as _;
use std::time::{Duration, Instant};

use remora_bench::daemon::{Client, Daemon};
use remora_bench::memory::{Random, fill};
use remora_bench::process::megabytes;
use remora_bench::{Result, load, ms, percentiles};
use remora_embed::Embedder;
use remora_store::DataDir;

const QUESTIONS: usize = 200;
/// Idle time before the daemon unloads the model. Longer than any pause between queries here.
const IDLE: Duration = Duration::from_secs(10);
/// Words of a query. With the start and end marks, it has 14 tokens.
const WORDS: usize = 12;

/// Name and parameters of each case, without the text.
const CASES: [(&str, &str); 8] = [
    ("hybrid", "mode=hybrid"),
    ("hybrid, one type of six", "mode=hybrid&type=bugfix"),
    ("hybrid, one file of 500", "mode=hybrid&file=src/file7.rs"),
    ("hybrid, one concept of 1,000", "mode=hybrid&concept=concept-7"),
    ("hybrid, the last month", "mode=hybrid&dateFrom=30%20days%20ago"),
    ("text", "mode=text"),
    ("strict", ""),
    ("strict, one type of six", "type=bugfix"),
];

fn main() -> Result<()> {
    let mut sizes: Vec<u64> =
        std::env::args().skip(1).map(|size| size.parse()).collect::<std::result::Result<_, _>>()?;
    if sizes.is_empty() {
        sizes = vec![10_000, 100_000];
    }
    let mut before: Option<Used> = None;
    for size in sizes {
        let used = measure(size)?;
        if let Some(before) = before {
            writeln!(std::io::stdout(), "each further vector: {:.0} bytes", used.a_vector_since(&before))?;
        }
        before = Some(used);
    }
    Ok(())
}

/// The daemon's memory after all queries.
struct Used {
    vectors: u64,
    megabytes: f64,
}

impl Used {
    #[expect(clippy::cast_precision_loss, reason = "some millions")]
    fn a_vector_since(&self, before: &Self) -> f64 {
        let vectors = self.vectors.saturating_sub(before.vectors) as f64;
        (self.megabytes - before.megabytes) * 1024.0 * 1024.0 / vectors
    }
}

fn measure(observations: u64) -> Result<Used> {
    let mut out = std::io::stdout().lock();
    let directory = tempfile::tempdir()?;
    let dir = DataDir::new(directory.path().join("data"));
    let started = Instant::now();
    fill(&dir, observations)?;
    writeln!(
        out,
        "{observations} observations, {} documents with vectors: filled in {:.0} s, {} MB on disk; load {}",
        observations * 4,
        started.elapsed().as_secs_f64(),
        std::fs::metadata(dir.database())?.len() >> 20,
        load(),
    )?;
    let idle = IDLE.as_secs().to_string();
    let daemon = Daemon::start(&directory.path().join("data"), &[("REMORA_SEARCH_IDLE_SECONDS", &idle)])?;
    let mut client = daemon.connect()?;
    let mut random = Random(7);
    let before = megabytes(daemon.pid, "VmRSS")?;
    let first = ask(&mut client, &random.words(WORDS), "mode=hybrid")?;
    writeln!(
        out,
        "  first question, with loading the vectors: {}; the daemon has {before:.0} MB before and {:.0} MB after, {:.0} MB \
         of it anonymous",
        ms(first),
        megabytes(daemon.pid, "VmRSS")?,
        megabytes(daemon.pid, "RssAnon")?,
    )?;
    for (name, filter) in CASES {
        let mut times = Vec::with_capacity(QUESTIONS);
        for _ in 0..QUESTIONS {
            let text = if name.starts_with("strict") { String::new() } else { random.words(WORDS) };
            times.push(ask(&mut client, &text, filter)?);
        }
        writeln!(out, "  {name}: {}", percentiles(times))?;
    }
    let (all, used) = (megabytes(daemon.pid, "VmRSS")?, megabytes(daemon.pid, "RssAnon")?);
    std::thread::sleep(IDLE + Duration::from_secs(5));
    let unloaded = megabytes(daemon.pid, "RssAnon")?;
    writeln!(
        out,
        "  the daemon has {all:.0} MB in use, {used:.0} MB of it anonymous; {unloaded:.0} MB of that after unloading"
    )?;
    let mut embedder = Embedder::new();
    let alone = (0..QUESTIONS).map(|_| {
        let text = random.words(WORDS);
        let started = Instant::now();
        let _ = embedder.embed_batch(&[&text], 48);
        started.elapsed()
    });
    writeln!(out, "  (embedding the question alone: {})", percentiles(alone.collect()))?;
    Ok(Used { vectors: observations * 4, megabytes: all })
}

fn ask(client: &mut Client, text: &str, filter: &str) -> Result<Duration> {
    let query = text.replace(' ', "%20");
    let started = Instant::now();
    let answer = client.get(&format!("/api/search?project=all&q={query}&{filter}"))?;
    let took = started.elapsed();
    // In a small memory, a narrow filter may match nothing.
    if filter == "mode=hybrid" && answer["hits"].as_array().is_none_or(Vec::is_empty) {
        return Err(format!("nothing found: {query} {filter}").into());
    }
    Ok(took)
}
