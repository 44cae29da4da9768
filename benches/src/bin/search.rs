//! What a search costs: by words and meaning together, with a filter and without, and by date alone.
//!
//! `search [OBSERVATIONS…]` fills a store with as many observations (10,000 and 100,000 unless told), four documents and
//! vectors each, of words as frequent as words are, and asks it questions of about 16 tokens.

#![allow(clippy::disallowed_methods, reason = "it fills the store faster than events could")]

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::{Duration, Instant};

use remora_core::document::ProjectScope;
use remora_core::ids::ProjectId;
use remora_core::memory::ObservationType;
use remora_embed::{DIMENSIONS, Embedder, MODEL, StoredVector};
use remora_search::{Embed, Mode, Purpose, RecordKind, SearchQuery, Searcher};
use remora_store::{DataDir, Store};
use rusqlite::{Connection, params};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What makes a question a case of its own.
type Change<'a> = &'a dyn Fn(&mut SearchQuery);

const QUESTIONS: usize = 200;
const VOCABULARY: u64 = 30_000;
const TYPES: [&str; 6] = ["bugfix", "feature", "refactor", "change", "discovery", "decision"];

fn main() -> Result<()> {
    let mut sizes: Vec<u64> =
        std::env::args().skip(1).map(|size| size.parse()).collect::<std::result::Result<_, _>>()?;
    if sizes.is_empty() {
        sizes = vec![10_000, 100_000];
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
    let mut store = Store::open(&dir)?;
    store.use_embedding_model(MODEL)?;
    let started = Instant::now();
    fill(&Connection::open(dir.database())?, observations)?;
    let bytes = std::fs::metadata(dir.database())?.len();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    writeln!(
        out,
        "{observations} observations, {} documents with vectors: filled in {:.0} s, {} MB on disk; load {}",
        observations * 4,
        started.elapsed().as_secs_f64(),
        bytes >> 20,
        load.split(' ').next().unwrap_or("unknown"),
    )?;
    let mut embedder = Embedder::new();
    let searcher = Searcher::new();
    let mut random = Random(7);
    let before = resident_kib();
    let first = Instant::now();
    searcher.search(&store, Some(&mut embedder), &question(&mut random))?;
    writeln!(
        out,
        "  first question, with loading the vectors: {}; memory {} MB more, of it vectors {} MB",
        ms(first.elapsed()),
        (resident_kib().saturating_sub(before)) >> 10,
        searcher.resident_bytes() >> 20
    )?;
    let narrow = |query: &mut SearchQuery| query.filters.types = vec![ObservationType::Bugfix];
    let cases: [(&str, Change<'_>); 6] = [
        ("hybrid", &|_| {}),
        ("hybrid, one type of six", &narrow),
        ("hybrid, one concept of a thousand", &|query| query.filters.concepts = vec!["concept-7".into()]),
        ("text", &|query| query.mode = Mode::Text),
        ("strict", &|query| query.text.clear()),
        ("strict, one type of six", &|query| {
            query.text.clear();
            narrow(query);
        }),
    ];
    for (name, change) in cases {
        let mut times = Vec::with_capacity(QUESTIONS);
        for _ in 0..QUESTIONS {
            let mut query = question(&mut random);
            query.filters.kinds = vec![RecordKind::Observation];
            change(&mut query);
            let started = Instant::now();
            searcher.search(&store, Some(&mut embedder), &query)?;
            times.push(started.elapsed());
        }
        times.sort();
        let at = |percent: usize| ms(times[times.len() * percent / 100]);
        writeln!(out, "  {name}: p50 {}, p99 {}", at(50), at(99))?;
    }
    let mut alone: Vec<Duration> = (0..QUESTIONS)
        .map(|_| {
            let text = question(&mut random).text;
            let started = Instant::now();
            let _ = Embed::embed(&mut embedder, &[&text], Purpose::Question);
            started.elapsed()
        })
        .collect();
    alone.sort();
    writeln!(out, "  (embedding the question alone: p50 {})", ms(alone[QUESTIONS / 2]))?;
    Ok(())
}

fn question(random: &mut Random) -> SearchQuery {
    let text = random.words(9);
    let mut query = SearchQuery::new(ProjectScope::One(ProjectId(1)), text);
    query.mode = Mode::Hybrid;
    query
}

/// What confirming turns would have left behind.
fn fill(db: &Connection, observations: u64) -> Result<()> {
    let mut random = Random(1);
    db.execute_batch(
        "PRAGMA synchronous = OFF; PRAGMA cache_size = -200000;
         INSERT INTO projects (uuid, key, name, root, created_at) VALUES (randomblob(16), 'k', 'bench', '/bench', 0);
         INSERT INTO sessions (uuid, host, content_session_id, project_id, started_at, last_activity_at)
         VALUES (randomblob(16), 'claude-code', 'bench', 1, 0, 0);",
    )?;
    let step = 5_000;
    for first in (0..observations).step_by(step) {
        db.execute_batch("BEGIN")?;
        for number in first..(first + step as u64).min(observations) {
            fill_one(db, &mut random, number)?;
        }
        db.execute_batch("COMMIT")?;
    }
    db.execute_batch(
        "INSERT INTO documents_text (documents_text) VALUES ('optimize');
         PRAGMA wal_checkpoint(TRUNCATE);",
    )?;
    Ok(())
}

fn fill_one(db: &Connection, random: &mut Random, number: u64) -> Result<()> {
    let id = i64::try_from(number)? + 1;
    let at = 1_700_000_000_000 + id * 1000;
    let (title, narrative) = (random.words(7), random.words(40));
    let concept = format!("[\"concept-{}\"]", random.next() % 1000);
    let kind = TYPES[usize::try_from(random.next() % 6)?];
    db.prepare_cached(
        "INSERT INTO observations (id, uuid, session_id, project_id, prompt_number, type, title, subtitle, narrative,
             facts, concepts, files_read, files_modified, discovery_tokens, content_hash, source_event_ids, provider,
             model, created_at)
         VALUES (?1, randomblob(16), 1, 1, 1, ?2, ?3, '', ?4, '[]', ?5, '[]', '[\"src/lib.rs\"]', 1, ?1, '[]', 'x', '', ?6)",
    )?
    .execute(params![id, kind, title, narrative, concept, at])?;
    for part in ["narrative", "fact_1", "fact_2", "fact_3"] {
        let lead = part == "narrative";
        let body = if lead { narrative.clone() } else { random.words(12) };
        db.prepare_cached(
            "INSERT INTO documents (kind, record_id, part, lead, project_id, session_id, created_at, embedded, title, body,
                 prompt, before, after)
             VALUES ('observation', ?1, ?2, ?3, 1, 1, ?4, 1, ?5, ?6, '', '', '')",
        )?
        .execute(params![id, part, lead, at, title, body])?;
        let document = db.last_insert_rowid();
        let vector = StoredVector::new(&random.direction());
        let values: Vec<u8> = vector.values.iter().map(|value| value.cast_unsigned()).collect();
        db.prepare_cached("INSERT INTO vectors (document_id, model, scale, value) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![document, MODEL, f64::from(vector.scale), values])?;
    }
    Ok(())
}

/// A small generator, the same numbers in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    #[expect(clippy::cast_precision_loss, reason = "31 bits")]
    fn unit(&mut self) -> f64 {
        self.next() as f64 / (1_u64 << 31) as f64
    }

    /// Words as frequent as words are: the second half as often as the first, and so on.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a rank"
    )]
    fn words(&mut self, count: usize) -> String {
        let mut text = String::new();
        for _ in 0..count {
            let rank = ((VOCABULARY as f64).powf(self.unit())) as u64;
            let _ = write!(text, "{} ", word(rank));
        }
        text
    }

    #[expect(clippy::cast_possible_truncation, reason = "a direction")]
    fn direction(&mut self) -> [f32; DIMENSIONS] {
        let mut vector = [0.0; DIMENSIONS];
        for value in &mut vector {
            *value = (self.unit() + self.unit() + self.unit() - 1.5) as f32;
        }
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.map(|value| value / length)
    }
}

/// A word that no stemmer shortens.
fn word(mut rank: u64) -> String {
    let mut text = String::new();
    loop {
        let syllables = ["ka", "to", "mi", "ru", "no", "pa", "lo", "vi", "du", "go", "bu", "fa", "zo", "ku"];
        text.push_str(syllables[usize::try_from(rank % 14).unwrap_or_default()]);
        rank /= 14;
        if rank == 0 {
            text.push('k');
            return text;
        }
    }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or_default()
}

fn ms(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1000.0)
}
