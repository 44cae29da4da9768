//! Measures how well search answers a retrieval set, through the real store.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use remora_core::time::Time;
use remora_search::{Mode, ProjectScope, SearchQuery, Searcher, index_next};
use remora_store::{DataDir, Store};

use crate::cache::Cached;
use crate::set::Set;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const MODES: [Mode; 3] = [Mode::Text, Mode::Semantic, Mode::Hybrid];

pub(crate) fn run(sets: &[PathBuf]) -> Result<()> {
    let mut embedder = Cached::open();
    println!("{:<16} {:<9} {:>6} {:>6} {:>6} {:>9}", "set", "mode", "R@5", "R@10", "MRR", "p50");
    for path in sets {
        let set: Set = serde_json::from_str(&fs::read_to_string(path)?)?;
        evaluate(&set, &mut embedder)?;
        embedder.save()?;
    }
    Ok(())
}

fn evaluate(set: &Set, embedder: &mut Cached) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let mut store = Store::open(&DataDir::new(directory.path().join("data")))?;
    let mut loaded = Vec::new();
    for collection in &set.collections {
        loaded.push(collection.load(&mut store, &set.name)?);
    }
    let mut indexed = 0;
    while let count @ 1.. = index_next(&store, embedder, true)? {
        indexed += count;
        if indexed % 512 == 0 {
            embedder.save()?;
        }
    }
    embedder.save()?;
    let searcher = Searcher::new();
    // Shows whether a change helps everywhere or in one collection only.
    let by_collection = std::env::var_os("EVAL_BY_COLLECTION").is_some();
    for mode in MODES {
        let mut total = Figures::default();
        for (collection, loaded) in set.collections.iter().zip(&loaded) {
            let mut figures = Figures::default();
            for question in &collection.queries {
                let mut query =
                    SearchQuery::new(ProjectScope::One(loaded.project), &question.text, Time::now());
                query.mode = mode;
                query.limit = 10;
                let started = Instant::now();
                let results = searcher.search(&store, Some(embedder), &query)?;
                figures.times.push(started.elapsed());
                let found: Vec<&str> = results
                    .hits
                    .iter()
                    .filter_map(|hit| loaded.turns.get(&hit.id))
                    .map(String::as_str)
                    .collect();
                figures.add(&found, &question.gold);
            }
            if by_collection {
                figures.print(&collection.id, mode);
            }
            total.merge(figures);
        }
        total.print(&set.name, mode);
    }
    Ok(())
}

#[derive(Default)]
struct Figures {
    questions: f64,
    at_5: f64,
    at_10: f64,
    reciprocal: f64,
    times: Vec<Duration>,
}

impl Figures {
    fn add(&mut self, found: &[&str], gold: &[String]) {
        let share = |most: usize| {
            let hits = gold.iter().filter(|gold| found.iter().take(most).any(|found| found == gold)).count();
            ratio(hits, gold.len())
        };
        self.questions += 1.0;
        self.at_5 += share(5);
        self.at_10 += share(10);
        let first = found.iter().take(10).position(|found| gold.iter().any(|gold| gold == found));
        self.reciprocal += first.map_or(0.0, |place| ratio(1, place + 1));
    }

    fn merge(&mut self, other: Self) {
        self.questions += other.questions;
        self.at_5 += other.at_5;
        self.at_10 += other.at_10;
        self.reciprocal += other.reciprocal;
        self.times.extend(other.times);
    }

    fn print(&self, name: &str, mode: Mode) {
        let percent = |sum: f64| 100.0 * sum / self.questions.max(1.0);
        let mut times = self.times.clone();
        times.sort();
        let median = times.get(times.len() / 2).copied().unwrap_or_default();
        println!(
            "{name:<16} {:<9} {:>6.1} {:>6.1} {:>6.1} {:>6.2} ms",
            mode.name(),
            percent(self.at_5),
            percent(self.at_10),
            percent(self.reciprocal),
            median.as_secs_f64() * 1000.0
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
