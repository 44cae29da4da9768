//! Records that repeat what another record says.
//!
//! A turn, its observations and the summary of its session are made of the same sentences. A user who forgets
//! one of them usually means the sentence, which the others would still inject.

use std::collections::BTreeSet;

use remora_core::document::{RecordId, RecordKind};
use remora_core::ids::SessionId;
use remora_core::prose;
use remora_store::{ObservationRow, PromptRow, Selection, Store, SummaryRow};

use crate::AppError;
use crate::records::{Record, record};

/// Shorter sentences are no sign of a repetition, in bytes: "All tests pass."
const MIN_LEN: usize = 24;

/// Other records of the same turns that have a sentence of these records.
pub(crate) fn repeats(store: &Store, named: &[RecordId]) -> Result<BTreeSet<RecordId>, AppError> {
    let mut found = BTreeSet::new();
    for id in named {
        let (source, others) = match record(store, &id.to_string()) {
            Ok(Record::Observation(row)) => {
                (of_observation(&row).1, beside(store, row.session_id, row.prompt_number)?)
            }
            Ok(Record::Turn(row)) => (of_turn(&row).1, beside(store, row.session_id, row.prompt_number)?),
            Ok(Record::Summary(row)) => (of_summary(&row).1, in_session(store, row.session_id)?),
            Ok(_) | Err(AppError::UnknownRecord(_)) => continue,
            Err(error) => return Err(error),
        };
        let sentences: Vec<String> = source
            .iter()
            .flat_map(|text| prose::sentences(text))
            .map(|sentence| plain(&sentence.text))
            .collect();
        let is_repeated = |texts: &[String]| {
            let texts: Vec<String> = texts.iter().map(|text| plain(text)).collect();
            let own = sentences.iter().filter(|sentence| sentence.len() >= MIN_LEN);
            own.into_iter().any(|sentence| texts.iter().any(|text| text.contains(sentence.as_str())))
        };
        found.extend(others.iter().filter(|(_, texts)| is_repeated(texts)).map(|(id, _)| *id));
    }
    found.retain(|id| !named.contains(id));
    Ok(found)
}

/// A record with its texts.
type Texts = (RecordId, Vec<String>);

/// Records of one turn, and the summary of its session.
fn beside(store: &Store, session: SessionId, turn: i64) -> Result<Vec<Texts>, AppError> {
    let last = Selection::of_session(session).last_turn_first().limit(1);
    let mut all = turns_and_observations(store, &Selection::of_session(session).turns(turn..=turn))?;
    all.extend(store.records().summaries(&last)?.items.iter().map(of_summary));
    Ok(all)
}

/// All turns and observations of a session.
fn in_session(store: &Store, session: SessionId) -> Result<Vec<Texts>, AppError> {
    turns_and_observations(store, &Selection::of_session(session))
}

fn turns_and_observations(store: &Store, selection: &Selection) -> Result<Vec<Texts>, AppError> {
    let prompts = store.records().prompts(selection)?.items;
    let observations = store.records().observations(selection)?.items;
    Ok(prompts.iter().map(of_turn).chain(observations.iter().map(of_observation)).collect())
}

fn of_turn(row: &PromptRow) -> Texts {
    let id = RecordId { kind: RecordKind::Turn, number: row.id.0 };
    (id, vec![row.text.clone(), row.closing_message.clone().unwrap_or_default()])
}

fn of_observation(row: &ObservationRow) -> Texts {
    let o = &row.observation;
    let texts = [&o.title, &o.subtitle, &o.narrative].into_iter().chain(&o.facts).cloned().collect();
    (RecordId { kind: RecordKind::Observation, number: row.id.0 }, texts)
}

fn of_summary(row: &SummaryRow) -> Texts {
    let s = &row.summary;
    let texts = [&s.request, &s.investigated, &s.learned, &s.completed, &s.next_steps, &s.notes];
    (RecordId { kind: RecordKind::Summary, number: row.id.0 }, texts.into_iter().cloned().collect())
}

/// A text without its case, Markdown signs and line breaks, and without the end of a sentence.
fn plain(text: &str) -> String {
    let letters: String = text.to_lowercase().chars().filter(|c| !matches!(c, '`' | '*' | '_')).collect();
    let words: Vec<&str> = letters.split_whitespace().collect();
    words.join(" ").trim_end_matches(['.', '…', '!', '?', ':', ';']).to_owned()
}
