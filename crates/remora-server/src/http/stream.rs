//! The stream of new records, as server-sent events.
//!
//! A stream holds only a cursor: on news it reads the rows behind the cursor from the database and sends
//! them. So a slow reader costs no memory, and a reader that was away gets every row it missed, from any
//! writer.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream::unfold;
use remora_app::feed::{self, Cursor};
use remora_app::present::{ObservationJson, QueueCountsJson, SummaryJson, TurnJson};
use remora_store::QueueCounts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::Instant;

use super::Http;
use super::asked::Query;
use super::error::ApiError;
use super::routes::ApiRoutes;
use super::visitor::Visitor;
use crate::activity::Connected;

/// Maximum number of rows of each kind per read.
const PORTION: u32 = 20;
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Limit for streams, each of which holds a connection.
pub(super) const MAX_STREAMS: usize = 64;
/// Minimum pause between two reads while the store changes often.
const MIN_PAUSE: Duration = Duration::from_millis(20);

pub(super) fn router() -> ApiRoutes {
    ApiRoutes::default().get("/stream", stream)
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StreamQuery {
    /// The reader's position: the `id` of the last event it received
    #[serde(rename = "lastEventId")]
    last_event_id: Option<String>,
}

async fn stream(
    State(http): State<Arc<Http>>,
    Extension(visitor): Extension<Visitor>,
    headers: HeaderMap,
    Query(parameters): Query<StreamQuery>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let named = headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
    let last_seen = named.or(parameters.last_event_id).filter(|id| !id.is_empty());
    let last_seen: Option<StreamPlace> = last_seen.map(|id| id.parse()).transpose()?;
    let place = Arc::clone(&http.streams).try_acquire_owned();
    let place = place.map_err(|_| ApiError::Unavailable("too many streams are open"))?;
    // Subscribed first: rows that arrive during the read are seen right after.
    let news = http.shared.news.subscribe();
    let latest = http.shared.reader.call(feed::latest).await?;
    let feed = Feed {
        place: last_seen.map_or(StreamPlace(latest), |seen| seen.at_most(latest)),
        ready: VecDeque::new(),
        queue: None,
        news,
        stop: http.stop.clone(),
        looked_at: None,
        has_more: true,
        _here: (http.shared.activity.connect(), place),
        visitor,
        http,
    };
    let events = unfold(feed, |mut feed| async move { Some((Ok(feed.next().await?), feed)) });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)))
}

struct Feed {
    http: Arc<Http>,
    visitor: Visitor,
    place: StreamPlace,
    ready: VecDeque<Event>,
    queue: Option<QueueCounts>,
    news: watch::Receiver<u64>,
    stop: watch::Receiver<bool>,
    looked_at: Option<Instant>,
    /// Whether the last read left rows behind.
    has_more: bool,
    _here: (Connected, OwnedSemaphorePermit),
}

impl Feed {
    /// Waits for the next event; `None` when the daemon ends, or the browser was signed out.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(event);
            }
            if !self.has_more {
                tokio::select! {
                    heard = self.news.changed() => heard.ok()?,
                    _ = self.stop.changed() => return None,
                }
                if let Some(looked_at) = self.looked_at {
                    tokio::time::sleep_until(looked_at + MIN_PAUSE).await;
                }
            }
            if *self.stop.borrow() || !self.visitor.is_still_in(&self.http.shared.dir) {
                return None;
            }
            if let Err(reason) = self.look().await {
                // The client reconnects with the last id it received.
                tracing::error!("http: stream: {reason}");
                return None;
            }
        }
    }

    async fn look(&mut self) -> Result<(), String> {
        self.looked_at = Some(Instant::now());
        self.news.borrow_and_update();
        let StreamPlace(cursor) = self.place;
        let look = self
            .http
            .shared
            .reader
            .call(move |store| Ok((feed::after(store, cursor, PORTION)?, store.queue().counts()?)));
        let (news, queue) = look.await.map_err(|error| error.to_string())?;
        let full = |count: usize| count >= PORTION as usize;
        self.has_more = full(news.prompts.len())
            || full(news.observations.len())
            || full(news.summaries.len())
            || full(news.events.len());
        for row in news.prompts {
            self.place.0.prompt = row.id.0;
            self.add("prompt", &TurnJson::from(row))?;
        }
        for row in news.events {
            self.place.0.event = row.id;
            self.add("tool", &row)?;
        }
        for row in news.observations {
            self.place.0.observation = row.id.0;
            self.add("observation", &ObservationJson::from(row))?;
        }
        for row in news.summaries {
            self.place.0.summary = row.id.0;
            self.add("summary", &SummaryJson::from(row))?;
        }
        if self.queue != Some(queue) {
            self.queue = Some(queue);
            self.add("queue", &QueueCountsJson::from(queue))?;
        }
        Ok(())
    }

    fn add(&mut self, kind: &str, row: &impl Serialize) -> Result<(), String> {
        let event = Event::default().event(kind).id(self.place.to_string());
        self.ready.push_back(event.json_data(row).map_err(|error| error.to_string())?);
        Ok(())
    }
}

/// A reader's position, as written in an event's id: `o12-s3-p45-e67`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StreamPlace(pub(super) Cursor);

impl StreamPlace {
    /// Limits the position to the newest rows. A database restored from a backup may be behind its readers.
    fn at_most(self, latest: Cursor) -> Self {
        Self(Cursor {
            observation: self.0.observation.min(latest.observation),
            summary: self.0.summary.min(latest.summary),
            prompt: self.0.prompt.min(latest.prompt),
            event: self.0.event.min(latest.event),
        })
    }
}

impl fmt::Display for StreamPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cursor { observation, summary, prompt, event } = self.0;
        write!(f, "o{observation}-s{summary}-p{prompt}-e{event}")
    }
}

impl FromStr for StreamPlace {
    type Err = ApiError;

    fn from_str(text: &str) -> Result<Self, ApiError> {
        let parse = || {
            let mut parts = text.splitn(4, '-');
            let mut number =
                |mark: char| parts.next()?.strip_prefix(mark)?.parse::<u32>().ok().map(i64::from);
            let (observation, summary, prompt) = (number('o')?, number('s')?, number('p')?);
            // Earlier versions sent ids without events; for those, events start now.
            let event = match parts.next() {
                Some(part) => part.strip_prefix('e')?.parse::<u32>().ok().map(i64::from)?,
                None => i64::MAX,
            };
            Some(Self(Cursor { observation, summary, prompt, event }))
        };
        parse().ok_or_else(|| {
            ApiError::invalid(
                "the last event's id is not an id of this stream",
                "send an id unchanged, such as `o12-s3-p45-e67`",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_parsed_as_it_is_written() {
        let place = StreamPlace(Cursor { observation: 12, summary: 3, prompt: 45, event: 67 });
        assert_eq!(place.to_string(), "o12-s3-p45-e67");
        assert_eq!("o12-s3-p45-e67".parse::<StreamPlace>().unwrap(), place);
        let latest = Cursor { observation: 9, summary: 9, prompt: 9, event: 9 };
        let event = |id: &str| id.parse::<StreamPlace>().unwrap().at_most(latest).0.event;
        assert_eq!((event("o12-s3-p45"), event("o0-s0-p0-e0"), event("o0-s0-p0-e99")), (9, 0, 9));
        for wrong in ["", "12", "o12-s3", "o12-s3-p-1", "o12-s3-p45-", "o12-s3-p45-e", "s3-o12-p45"] {
            assert!(wrong.parse::<StreamPlace>().is_err(), "{wrong}");
        }
    }
}
