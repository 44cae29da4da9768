//! A memory of any size, with natural word frequencies and random vectors.

#![allow(clippy::disallowed_methods, reason = "fills the store faster than events could")]

use remora_store::search::VectorsWanted;
use std::sync::LazyLock;

use remora_core::time::Time;
use remora_embed::{DIMENSIONS, MODEL, StoredVector};
use remora_store::{DataDir, Store};
use rusqlite::{Connection, params};

use crate::Result;

const TYPES: [&str; 6] = ["bugfix", "feature", "refactor", "change", "discovery", "decision"];

/// Ids below this belong to turns that the store already had.
const FIRST_TURN: i64 = 1_000_000;

/// Inserts the rows that confirmed turns would have left, into the project of the store's first session or a new one.
/// An observation gets four documents with vectors: its narrative, two facts, and its turn.
pub fn fill(dir: &DataDir, observations: u64) -> Result<()> {
    Store::open(dir)?.index().to_embed(VectorsWanted { model: MODEL, of_turns: true }, 0)?;
    let db = Connection::open(dir.database())?;
    let mut random = Random(1);
    db.execute_batch(
        "PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; PRAGMA wal_autocheckpoint = 20000;
         INSERT INTO projects (uuid, key, name, root, created_at)
         SELECT randomblob(16), 'k', 'bench', '/bench', 0 WHERE NOT EXISTS (SELECT 1 FROM projects);
         INSERT INTO sessions (uuid, host, content_session_id, project_id, started_at, last_activity_at)
         SELECT randomblob(16), 'claude-code', 'bench', 1, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM sessions);",
    )?;
    let step = 5_000;
    for first in (0..observations).step_by(step) {
        db.execute_batch("BEGIN")?;
        for number in first..(first + step as u64).min(observations) {
            fill_one(&db, &mut random, number, observations)?;
        }
        db.execute_batch("COMMIT")?;
    }
    // Connections of the store update the full-text index by triggers; this one rebuilds it once.
    db.execute_batch(
        "INSERT INTO documents_text (documents_text) VALUES ('rebuild');
         INSERT INTO documents_trigram (documents_trigram) VALUES ('rebuild');
         INSERT INTO documents_text (documents_text) VALUES ('optimize');
         PRAGMA wal_checkpoint(TRUNCATE);",
    )?;
    // Otherwise the disk would still be busy during the measurements.
    std::fs::File::open(dir.database())?.sync_all()?;
    Ok(())
}

fn fill_one(db: &Connection, random: &mut Random, number: u64, all: u64) -> Result<()> {
    let id = i64::try_from(number)? + 1;
    let turn = FIRST_TURN + id;
    // Spread over a year, up to now.
    let year = 365 * 86_400_000;
    let at = Time::now().0 - year + year / i64::try_from(all)? * id;
    let (title, narrative) = (random.words(7), random.words(40));
    let concept = format!("concept-{}", random.next() % 1000);
    let name = format!("file{}.rs", random.next() % 500);
    let kind = TYPES[usize::try_from(random.next() % 6)?];
    db.prepare_cached(
        "INSERT INTO observations (id, uuid, session_id, project_id, prompt_number, type, title, subtitle, narrative,
             facts, discovery_tokens, content_hash, source_event_ids, provider, model, created_at, updated_at)
         VALUES (?1, randomblob(16), 1, 1, ?6, ?2, ?3, '', ?4, '[]', 900, ?1, '[]', 'x', '', ?5, ?5)",
    )?
    .execute(params![id, kind, title, narrative, at, turn])?;
    db.prepare_cached(
        "INSERT INTO observation_files (observation_id, how, position, path, path_reversed)
         VALUES (?1, 'modified', 0, 'src/' || ?2, ?2 || '/src/')",
    )?
    .execute(params![id, name])?;
    db.prepare_cached(
        "INSERT INTO observation_concepts (observation_id, position, concept) VALUES (?1, 0, ?2)",
    )?
    .execute(params![id, concept])?;
    // The narrative document also holds words of the prompt and of the text around it.
    let beside = [10, 40, 40].map(|count| random.words(count));
    let [prompt, closing] = [20, 40].map(|count| random.words(count));
    db.prepare_cached(
        "INSERT INTO user_prompts (id, uuid, session_id, prompt_number, text, closing_message, created_at, updated_at)
         VALUES (?1, randomblob(16), 1, ?1, ?2, ?3, ?4, ?4)",
    )?
    .execute(params![turn, prompt, closing, at])?;
    let narrative = format!("{narrative}\n{}\nsrc/{name}", concept.replace('-', " "));
    let none = ["", "", ""];
    let [prompt_words, before, after] = &beside;
    let documents = [
        ("observation", id, "narrative", &*narrative, [prompt_words.as_str(), before, after]),
        ("observation", id, "fact_1", &random.words(12), none),
        ("observation", id, "fact_2", &random.words(12), none),
        ("turn", turn, "turn", &format!("{prompt}\n{closing}"), none),
    ];
    for (record, number, part, body, [prompt, before, after]) in documents {
        let is_observation = record == "observation";
        let is_lead = part != "fact_1" && part != "fact_2";
        db.prepare_cached(
            "INSERT INTO documents (kind, record_id, part, lead, project_id, session_id, created_at, embedded, type, title, body,
                 prompt, before, after)
             VALUES (?1, ?2, ?3, ?4, 1, 1, ?5, 1, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            record,
            number,
            part,
            is_lead,
            at,
            is_observation.then_some(kind),
            if is_observation { &*title } else { "" },
            body,
            prompt,
            before,
            after
        ])?;
        let document = db.last_insert_rowid();
        let vector = StoredVector::new(&random.direction());
        let values: Vec<u8> = vector.values.iter().map(|value| value.cast_unsigned()).collect();
        db.prepare_cached("INSERT INTO vectors (document_id, model, scale, value) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![document, MODEL, f64::from(vector.scale), values])?;
    }
    Ok(())
}

/// A small pseudorandom generator that yields the same numbers in every run.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    /// A number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    #[expect(clippy::cast_precision_loss, reason = "31 bits")]
    fn unit(&mut self) -> f64 {
        self.next() as f64 / (1_u64 << 31) as f64
    }

    /// Random words with a Zipf distribution: the second most frequent half as often as the first, and so on.
    pub fn words(&mut self, count: usize) -> String {
        let words: Vec<&str> = (0..count).map(|_| self.word()).collect();
        words.join(" ")
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a rank"
    )]
    fn word(&mut self) -> &'static str {
        let rank = (WORDS.len() as f64).powf(self.unit()) as usize;
        WORDS[rank.min(WORDS.len()) - 1]
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

/// The whole words of the model's vocabulary, most frequent first. Each is a single token.
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let all = include_str!("../../crates/remora-embed/model/vocab.txt").lines();
    all.filter(|word| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase())).collect()
});
