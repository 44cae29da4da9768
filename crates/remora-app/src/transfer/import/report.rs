//! The report of an import.

use std::collections::BTreeMap;
use std::path::PathBuf;

use remora_core::privacy::Unfit;
use remora_store::import::ImportOutcome;
use serde::{Serialize, Serializer};

/// Limit for problems listed one by one; the rest are only counted.
const MAX_PROBLEMS: usize = 20;

/// Each record that was read is in exactly one of the counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// One entry per kind of record, in the order they were read.
    pub kinds: Vec<Tally>,
    /// The projects the records belong to.
    pub projects: Vec<Recipient>,
    /// Problems with single records, up to the limit.
    pub problems: Vec<String>,
    /// Observations and summaries made from imported events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
}

/// The records of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub kind: &'static str,
    pub read: u64,
    pub imported: u64,
    pub already_there: u64,
    #[serde(serialize_with = "by_name")]
    pub skipped: BTreeMap<Skipped, u64>,
}

/// A project that received records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Recipient {
    pub name: String,
    /// `None` if its directory is unknown.
    pub root: Option<PathBuf>,
    pub is_new: bool,
    pub records: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Observed {
    pub turns: usize,
    pub observations: usize,
    pub summaries: usize,
    pub facts: i64,
}

/// Why a record was not imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skipped {
    Empty,
    Private,
    /// The user has forgotten it.
    Forgotten,
    /// Another record has the same content.
    Repeated,
    ExcludedProject,
    Paused,
    /// A session of an observer's own model calls.
    Observer,
    /// A subagent's session; its report is in the session that started it.
    Subagent,
    /// Raw events of claude-mem, which only claude-mem can process.
    NotMemory,
    Damaged,
}

impl Skipped {
    pub fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Private => "private",
            Self::Forgotten => "forgotten",
            Self::Repeated => "repeated",
            Self::ExcludedProject => "excluded project",
            Self::Paused => "paused",
            Self::Observer => "of an observer",
            Self::Subagent => "of a subagent",
            Self::NotMemory => "raw events",
            Self::Damaged => "damaged",
        }
    }
}

impl From<Unfit> for Skipped {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Empty => Self::Empty,
            Unfit::Private => Self::Private,
        }
    }
}

impl Tally {
    pub fn skipped(&self) -> u64 {
        self.skipped.values().sum()
    }
}

impl ImportReport {
    pub(super) fn of(&mut self, kind: &'static str) -> &mut Tally {
        let place = self.kinds.iter().position(|tally| tally.kind == kind).unwrap_or_else(|| {
            let skipped = BTreeMap::new();
            self.kinds.push(Tally { kind, read: 0, imported: 0, already_there: 0, skipped });
            self.kinds.len() - 1
        });
        &mut self.kinds[place]
    }

    pub(super) fn skip(&mut self, kind: &'static str, reason: Skipped, count: u64) {
        let tally = self.of(kind);
        tally.read += count;
        if count > 0 {
            *tally.skipped.entry(reason).or_default() += count;
        }
    }

    pub(super) fn settle(&mut self, kind: &'static str, outcome: ImportOutcome) {
        match outcome {
            ImportOutcome::Imported => {
                let tally = self.of(kind);
                tally.read += 1;
                tally.imported += 1;
            }
            ImportOutcome::Known => {
                let tally = self.of(kind);
                tally.read += 1;
                tally.already_there += 1;
            }
            ImportOutcome::Repeated => self.skip(kind, Skipped::Repeated, 1),
            ImportOutcome::Forgotten => self.skip(kind, Skipped::Forgotten, 1),
        }
    }

    pub(super) fn damaged(&mut self, kind: &'static str, problem: String) {
        self.skip(kind, Skipped::Damaged, 1);
        self.problem(problem);
    }

    /// Names a record that was skipped.
    pub(super) fn problem(&mut self, problem: String) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        }
    }

    /// Number of imported sessions if transcripts were imported, otherwise of all records.
    pub fn imported(&self) -> u64 {
        let counts = |tally: &&Tally| self.observed.is_none() || tally.kind == "sessions";
        self.kinds.iter().filter(counts).map(|tally| tally.imported).sum()
    }
}

fn by_name<S: Serializer>(skipped: &BTreeMap<Skipped, u64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(skipped.iter().map(|(reason, count)| (reason.name().replace(' ', "_"), count)))
}
