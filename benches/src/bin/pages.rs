//! Measures the pages: the time to the complete text of each page, and of search as you type.
//!
//! `pages [OBSERVATIONS…]` fills a store with this many observations (100,000 by default), requests each page from a
//! daemon, and requests search results after every second letter of 40 queries.

use std::io::Write as _;
use std::time::{Duration, Instant};

use remora_bench::daemon::{Client, Daemon};
use remora_bench::memory::{Random, fill};
use remora_bench::{Result, load, ms, percentiles};
use remora_store::DataDir;

const TIMES: usize = 20;
/// Number of typed queries, and words in each.
const QUESTIONS: usize = 40;
const WORDS: usize = 3;

const PAGES: [&str; 19] = [
    "/",
    "/?project=1",
    "/feed",
    "/search",
    "/timeline?project=1",
    "/sessions",
    "/sessions/1?turn=1050000",
    "/observations/77",
    "/files",
    "/files?q=file7",
    "/memory",
    "/memory?project=1",
    "/playground",
    "/playground?project=1&prompt=why%20does%20the%20parser%20fail",
    "/costs",
    "/queue",
    "/health",
    "/privacy",
    "/settings",
];

fn main() -> Result<()> {
    let mut sizes: Vec<u64> =
        std::env::args().skip(1).map(|size| size.parse()).collect::<std::result::Result<_, _>>()?;
    if sizes.is_empty() {
        sizes = vec![100_000];
    }
    for size in sizes {
        measure(size)?;
    }
    Ok(())
}

fn measure(observations: u64) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let directory = tempfile::tempdir()?;
    let dir = DataDir::new(directory.path().join("data"));
    fill(&dir, observations)?;
    writeln!(out, "pages of {observations} observations; load {}", load())?;
    let daemon = Daemon::start(&directory.path().join("data"), &[])?;
    let mut client = daemon.connect()?;
    let mut random = Random(7);
    let mut times = Vec::new();
    for _ in 0..QUESTIONS {
        let question = random.words(WORDS);
        // The script in the page debounces input, so about every second letter causes a request.
        for end in (2..=question.len()).step_by(2) {
            let text = question.get(..end).unwrap_or(&question).replace(' ', "%20");
            times.push(ask(&mut client, &format!("/search?q={text}&part=results"))?.0);
        }
    }
    writeln!(out, "  search as you type, {} requests: {}", times.len(), percentiles(times))?;
    for page in PAGES {
        let first = ask(&mut client, page)?;
        let mut times = Vec::with_capacity(TIMES);
        for _ in 0..TIMES {
            times.push(ask(&mut client, page)?.0);
        }
        writeln!(out, "  {page}: first {}, {} KiB, then {}", ms(first.0), first.1 >> 10, percentiles(times))?;
    }
    Ok(())
}

fn ask(client: &mut Client, path: &str) -> Result<(Duration, usize)> {
    let started = Instant::now();
    let text = client.page(path)?;
    Ok((started.elapsed(), text.len()))
}
