//! A session as a story: the prompts, the steps, the failures, the results and the costs.

use std::ops::Bound;

use remora_core::ids::SessionId;
use remora_store::injections::{Moment, WhichRetrievals};
use remora_store::{
    EventRow, ObservationRow, PromptRow, Selection, SessionQuery, SessionRow, Spent, Store, StoreError,
    SummaryRow, UsageQuery,
};

use crate::why::{self, Why, WhyRequest};
use crate::{AppError, Runtime, files};

/// Limit for injections read per session.
const MAX_INJECTIONS: u32 = 500;

#[derive(Debug, Clone, PartialEq)]
pub struct Story {
    pub session: SessionRow,
    /// State after the last turn.
    pub summary: Option<SummaryRow>,
    pub turns: Vec<Turn>,
    /// Observations between these turns whose own prompt is not stored: imported without a number, or private.
    pub without_prompt: Vec<ObservationRow>,
    /// Who wrote the records of the session, if not the built-in observer: provider and model.
    pub writers: Vec<(String, String)>,
    /// What was injected before the first prompt.
    pub given_at_start: Vec<Why>,
    /// Cost of observing the session.
    pub spent: Spent,
    /// Number of injections, and their tokens.
    pub injections: usize,
    pub injected_tokens: u64,
    /// First turn of the previous page, and of the next one.
    pub earlier: Option<i64>,
    pub next: Option<i64>,
}

/// One turn. Turns with a private prompt appear only in the session's count.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub prompt: PromptRow,
    /// Tool calls, in order.
    pub steps: Vec<EventRow>,
    pub observations: Vec<ObservationRow>,
    pub given: Vec<Why>,
    /// Why it broke off, if it did: `failed`, or `interrupted` if it never ended.
    pub broke_off: Option<&'static str>,
}

/// Selects turns of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The number of the first turn, from 1.
    pub from: i64,
    pub most: u32,
}

/// Returns `None` if there is no such session.
pub fn story(rt: &dyn Runtime, id: SessionId, part: Part) -> Result<Option<Story>, AppError> {
    let store = rt.store();
    let all = Selection::of_session(id);
    let Some(session) = store.sessions().list(&SessionQuery::one(id))?.pop() else { return Ok(None) };
    // One extra row shows whether there is a next page.
    let mut prompts =
        store.records().prompts(&all.clone().turns(part.from..).limit(part.most.saturating_add(1)))?.items;
    let next =
        prompts.get(usize::try_from(part.most).unwrap_or(usize::MAX)).map(|prompt| prompt.prompt_number);
    prompts.retain(|prompt| next.is_none_or(|next| prompt.prompt_number < next));
    let (Some(first), Some(last)) = (prompts.first(), prompts.last()) else {
        let without_prompt = store.records().observations(&all)?.items;
        return Ok(Some(Story { without_prompt, ..empty(store, session)? }));
    };
    let (first, last) = (first.prompt_number, last.prompt_number);
    let before = all.clone().turns(..first).last_turn_first().limit(part.most);
    let earlier = store.records().prompts(&before)?.items.last().map(|prompt| prompt.prompt_number);
    let mut events = store.records().events(&all.clone().turns(first..=last))?.items;
    files::shorten(&store.sessions().origin(id)?.ok_or(StoreError::UnknownSession(id))?.root, &mut events);
    // Includes the numbers that no prompt has, so that the pages together show every observation once.
    let begin = if earlier.is_some() { Bound::Included(first) } else { Bound::Unbounded };
    let end = next.map_or(Bound::Unbounded, Bound::Excluded);
    let mut observations = store.records().observations(&all.turns((begin, end)))?.items;
    let mut story = Story { earlier, next, ..empty(store, session)? };
    for prompt in prompts {
        let number = prompt.prompt_number;
        let is_last = next.is_none() && number == last;
        let of_turn: Vec<EventRow> = events.extract_if(.., |event| event.prompt_number == number).collect();
        story.turns.push(Turn {
            broke_off: broke_off(&story.session, &prompt, &of_turn, is_last),
            steps: of_turn.into_iter().filter(|event| event.tool.is_some()).collect(),
            observations: observations.extract_if(.., |row| row.prompt_number == number).collect(),
            given: Vec::new(),
            prompt,
        });
    }
    story.without_prompt = observations;
    give(rt, &mut story)?;
    Ok(Some(story))
}

/// A story without turns.
fn empty(store: &Store, session: SessionRow) -> Result<Story, AppError> {
    let id = session.id;
    let rows = store.injections().list(WhichRetrievals::OfSession(id), MAX_INJECTIONS)?;
    Ok(Story {
        summary: store
            .records()
            .summaries(&Selection::of_session(id).last_turn_first().limit(1))?
            .into_first(),
        spent: store.queue().usage(&UsageQuery::of_session(id))?.iter().sum(),
        turns: Vec::new(),
        without_prompt: Vec::new(),
        writers: store.sessions().writers(id)?,
        given_at_start: Vec::new(),
        injections: rows.len(),
        injected_tokens: rows.iter().map(|row| row.retrieval.tokens).sum(),
        earlier: None,
        next: None,
        session,
    })
}

/// Assigns every injection to its turn.
fn give(rt: &dyn Runtime, story: &mut Story) -> Result<(), AppError> {
    let request = WhyRequest::Session(story.session.content_session_id.clone());
    let mut given = why::why(rt, &request, MAX_INJECTIONS)?;
    given.reverse();
    let end = match story.next {
        Some(next) => {
            let turn = Selection::of_session(story.session.id).turns(next..).limit(1);
            rt.store().records().prompts(&turn)?.into_first().map(|turn| turn.created_at)
        }
        None => None,
    };
    for one in given {
        let retrieval = &one.row.retrieval;
        let (at, text) = (retrieval.at, retrieval.prompt.trim_end_matches('…'));
        // The log has the beginning of the prompt in one line, and may be written shortly before or after the prompt.
        let is_of = |turn: &Turn| {
            retrieval.moment == Moment::Prompt
                && !text.is_empty()
                && remora_core::text::one_line(&turn.prompt.text, text.len().max(1)).starts_with(text)
        };
        let place = story.turns.iter().rposition(is_of);
        let place = place.or_else(|| story.turns.iter().rposition(|turn| turn.prompt.created_at <= at));
        let is_later = end.is_some_and(|end| at >= end);
        match place {
            Some(place) if !is_later => story.turns[place].given.push(one),
            None if story.earlier.is_none() => story.given_at_start.push(one),
            _ => {}
        }
    }
    Ok(())
}

fn broke_off(
    session: &SessionRow,
    prompt: &PromptRow,
    events: &[EventRow],
    is_last: bool,
) -> Option<&'static str> {
    let end = events.iter().rev().find(|event| event.kind == "turn_ended");
    match end {
        Some(end) if end.outcome.as_deref() == Some("failed") => Some("failed"),
        Some(_) => None,
        // Imported turns have no traces, and those of old turns may be gone: then nothing proves that it broke off. A
        // closing message proves an end. The last turn may still be running.
        None if events.is_empty() || prompt.closing_message.is_some() => None,
        None if is_last && session.status == "active" => None,
        None => Some("interrupted"),
    }
}
