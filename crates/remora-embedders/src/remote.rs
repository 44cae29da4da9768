//! An embedder over the network. Texts are redacted and cut before they are sent, answers are checked, and no
//! caller waits for a service that is failing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use remora_core::privacy;
use remora_core::settings::{Search, Secret};
use remora_core::text::prefix;
use remora_core::time::Time;
use remora_net::{CallError, Health, Http, Outage, RetryClock};
use remora_search::{Closeness, EXAMPLES, EmbedError, Embeddings, Purpose};
use tokio::time::timeout;

use crate::api::Api;

/// Timeout of one request. A slow machine may have to load the model first and then read some pages of text.
const MAX_EXCHANGE: Duration = Duration::from_mins(2);
/// Limits for one request: an answer has thousands of numbers per text, and a slow machine takes seconds per
/// page.
const MAX_TEXTS: usize = 32;
const MAX_BYTES: usize = 32_000;
/// Longer texts are cut. A token has at least one byte, and every supported model takes at least 8,191
/// tokens.
const MAX_TEXT_LEN: usize = 8_000;
/// Longer queries are cut. The beginning of a long prompt says what it is about.
const MAX_QUESTION_LEN: usize = 1_000;
/// A refused text is halved and retried down to this length.
const MIN_TEXT_LEN: usize = 500;
/// After a query that was too slow for a prompt, the embedder is not called for prompts for this long.
const SLOW_PAUSE: Duration = Duration::from_mins(1);

#[derive(Debug)]
pub struct Remote {
    api: Api,
    provider: &'static str,
    http: Http,
    model: String,
    /// The name of its vectors, without their dimensions.
    name: String,
    retry_clock: Mutex<RetryClock>,
    /// Learned from the first answer. Locked while that request runs, so that only one is sent.
    profile: tokio::sync::Mutex<Option<VectorProfile>>,
    /// Whether a query whose caller gave up is still running.
    owes_answer: AtomicBool,
    /// Duration and time of the last query.
    pace: Mutex<Option<(Duration, Instant)>>,
}

#[derive(Debug, Clone, Copy)]
struct VectorProfile {
    dimensions: usize,
    closeness: Closeness,
}

/// A call in flight. However it ends, even if its caller gives up, the next call may be tried.
struct Exchange<'a>(&'a Remote);

impl Drop for Exchange<'_> {
    fn drop(&mut self) {
        self.0.retry_clock().abandoned();
    }
}

/// Why a request failed.
struct EmbedFailure {
    reason: String,
    retry_after: Option<Duration>,
    /// The service works, but refuses these texts.
    is_refusal: bool,
}

impl Remote {
    /// Sends nothing yet. `None` if the settings name no embedder over the network.
    pub(super) fn new(settings: &Search) -> Option<Result<Self, EmbedError>> {
        let api = Api::of(settings.embedder)?;
        Some(Self::of(api, settings))
    }

    fn of(api: Api, settings: &Search) -> Result<Self, EmbedError> {
        let provider = settings.embedder.as_str();
        if settings.misses_key() {
            let command = "`remora config set search.embedder_api_key -`";
            return Err(EmbedError(format!("{provider} needs a key: {command}")));
        }
        let url = api.base_url(given_or(&settings.embedder_url, api.own_url()));
        let model = given_or(&settings.embedder_model, api.own_model()).to_owned();
        let key = Some(settings.embedder_api_key.clone()).filter(Secret::is_set);
        let http = Http::new(url, key, MAX_EXCHANGE).map_err(|error| {
            EmbedError(format!("search.embedder_url: {error}: `remora config set search.embedder_url URL`"))
        })?;
        // A local server often serves one model under any name, so its URL identifies it better.
        let place =
            if api == Api::OpenAi && url != api.own_url() { format!("@{url}") } else { String::new() };
        Ok(Self {
            api,
            provider,
            http: http.keeping_its_connection(),
            name: format!("{provider}/{model}{place}"),
            model,
            retry_clock: Mutex::default(),
            profile: tokio::sync::Mutex::default(),
            owes_answer: AtomicBool::new(false),
            pace: Mutex::default(),
        })
    }

    /// The current health, for status reports.
    pub fn health(&self) -> Health {
        let (provider, model) = (self.provider.to_owned(), self.model.clone());
        Health { provider, model, trouble: self.outage() }
    }

    pub fn outage(&self) -> Option<Outage> {
        self.retry_clock().outage().cloned()
    }

    /// The name of its vectors, including their dimensions.
    pub async fn vectors_name(&self) -> Result<String, EmbedError> {
        Ok(self.name_of(self.profile().await?))
    }

    fn name_of(&self, known: VectorProfile) -> String {
        format!("{}/{}", self.name, known.dimensions)
    }

    /// The vector of a query, if it arrives within `limit`. Fails at once while the service is known to be
    /// down. A late call continues in the background, because its answer shows that the service is back.
    pub async fn question(self: &Arc<Self>, text: &str, limit: Duration) -> Result<Embeddings, EmbedError> {
        if self.owes_answer.load(Ordering::Relaxed) {
            return Err(self.error("an earlier request is still unanswered"));
        }
        let mut asking = self.ask(text);
        let Ok(answer) = timeout(limit, &mut asking).await else {
            self.owes_answer.store(!asking.is_finished(), Ordering::Relaxed);
            return Err(self.error(&format!("no answer within {} ms", limit.as_millis())));
        };
        answer.unwrap_or_else(|_| Err(self.error("the request failed because of a bug")))
    }

    /// Like [`Remote::question`], with a short limit. The service is called only if it is healthy and was
    /// fast enough recently, so a timeout does not count as a failure.
    pub async fn quick_question(
        self: &Arc<Self>,
        text: &str,
        limit: Duration,
    ) -> Result<Embeddings, EmbedError> {
        let is_known = self.profile.try_lock().is_ok_and(|known| known.is_some());
        let pace = *self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        let is_slow = pace.is_some_and(|(took, at)| took > limit && at.elapsed() < SLOW_PAUSE);
        if let Some(outage) = self.outage() {
            return Err(self.error(&outage.reason));
        }
        let late = || EmbedError::late(self.provider, limit);
        if !is_known || is_slow || self.owes_answer.load(Ordering::Relaxed) {
            return Err(late());
        }
        let Ok(answer) = timeout(limit, self.ask(text)).await else {
            self.note_pace(limit + Duration::from_millis(1));
            return Err(late());
        };
        answer.unwrap_or_else(|_| Err(self.error("the request failed because of a bug")))
    }

    /// Sends the request in its own task, which continues if the caller gives up.
    fn ask(self: &Arc<Self>, text: &str) -> tokio::task::JoinHandle<Result<Embeddings, EmbedError>> {
        let (remote, text) = (Arc::clone(self), text.to_owned());
        tokio::spawn(async move {
            let started = Instant::now();
            let answer = remote.embed(vec![text], Purpose::Question).await;
            remote.owes_answer.store(false, Ordering::Relaxed);
            if answer.is_ok() {
                remote.note_pace(started.elapsed());
            }
            answer
        })
    }

    fn note_pace(&self, took: Duration) {
        *self.pace.lock().unwrap_or_else(PoisonError::into_inner) = Some((took, Instant::now()));
    }

    /// Returns one vector per text. Fails at once while it is too early to retry.
    pub async fn embed(&self, texts: Vec<String>, purpose: Purpose) -> Result<Embeddings, EmbedError> {
        let known = self.profile().await?;
        let made = self.attempt(self.exchange(texts, purpose), purpose == Purpose::Question).await?;
        let model = self.name_of(known);
        if let Some(other) = made.iter().map(Vec::len).find(|length| *length != known.dimensions) {
            *self.profile.lock().await = None;
            let was = known.dimensions;
            return Err(self.failed(&format!("its vectors had {was} numbers and have {other} now"), None));
        }
        Ok(Embeddings { model, closeness: known.closeness, vectors: made })
    }

    /// Dimensions and meaning of its cosines, learned from the first request.
    async fn profile(&self) -> Result<VectorProfile, EmbedError> {
        let mut known = self.profile.lock().await;
        if let Some(known) = *known {
            return Ok(known);
        }
        let (questions, answers): (Vec<&str>, Vec<&str>) = EXAMPLES.into_iter().unzip();
        let examples = async {
            let owned = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect();
            let questions = self.exchange(owned(questions), Purpose::Question).await?;
            let answers = self.exchange(owned(answers), Purpose::Document).await?;
            let dimensions = questions.first().map_or(0, Vec::len);
            if answers.iter().any(|answer| answer.len() != dimensions) {
                return Err(EmbedFailure::of_answer("its vectors have different lengths"));
            }
            Ok((questions, answers, dimensions))
        };
        let (questions, answers, dimensions) = self.attempt(examples, false).await?;
        let closeness = Closeness::measured(&questions, &answers);
        Ok(*known.insert(VectorProfile { dimensions, closeness }))
    }

    /// Runs an exchange if the backoff allows one, and updates the health with the result. With
    /// `may_be_refused`, a refusal does not count against the service: it may be caused by the text.
    async fn attempt<T>(
        &self,
        exchange: impl Future<Output = Result<T, EmbedFailure>>,
        may_be_refused: bool,
    ) -> Result<T, EmbedError> {
        let admitted = self.retry_clock().admit(Time::now());
        if admitted.is_err() {
            let reason = self.outage().map(|outage| outage.reason);
            return Err(self.error(&reason.unwrap_or_default()));
        }
        let _until_the_end = Exchange(self);
        match exchange.await {
            Ok(answer) => {
                self.retry_clock().answered();
                Ok(answer)
            }
            Err(failure) if failure.is_refusal && may_be_refused => {
                self.retry_clock().answered();
                Err(self.error(&failure.reason))
            }
            Err(failure) => Err(self.failed(&failure.reason, failure.retry_after)),
        }
    }

    fn failed(&self, reason: &str, retry_after: Option<Duration>) -> EmbedError {
        self.retry_clock().failed(reason, retry_after, Time::now());
        self.error(reason)
    }

    fn error(&self, reason: &str) -> EmbedError {
        EmbedError(format!("{}: {reason}", self.provider))
    }

    fn retry_clock(&self) -> MutexGuard<'_, RetryClock> {
        self.retry_clock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn exchange(&self, texts: Vec<String>, purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedFailure> {
        let longest = match purpose {
            Purpose::Question => MAX_QUESTION_LEN,
            Purpose::Document => MAX_TEXT_LEN,
        };
        let texts = sendable(texts, longest).await?;
        let mut vectors = Vec::with_capacity(texts.len());
        for texts in portions(&texts) {
            match self.send(texts, purpose).await {
                Err(failure) if failure.is_refusal && purpose == Purpose::Document => {
                    for text in texts {
                        vectors.push(self.send_in_part(text).await?);
                    }
                }
                made => vectors.extend(made?),
            }
        }
        Ok(vectors)
    }

    /// Embeds a document that was refused, in shorter and shorter parts. A document that is refused at every
    /// length gets a vector that is similar to nothing; keyword search still finds it.
    async fn send_in_part(&self, text: &str) -> Result<Vec<f32>, EmbedFailure> {
        let mut length = MAX_TEXT_LEN;
        while length >= MIN_TEXT_LEN {
            match self.send(&[prefix(text, length).to_owned()], Purpose::Document).await {
                Err(failure) if failure.is_refusal => length /= 2,
                made => return Ok(made?.swap_remove(0)),
            }
        }
        let harmless = self.send(&[EXAMPLES[0].1.to_owned()], Purpose::Document).await?;
        Ok(vec![0.0; harmless[0].len()])
    }

    /// Sends one request.
    async fn send(&self, texts: &[String], purpose: Purpose) -> Result<Vec<Vec<f32>>, EmbedFailure> {
        let url = self.http.url(self.api.path(self.http.base_path()));
        let headers = [("authorization", self.http.key_header("Bearer ")?)];
        let body = self.api.question(&self.model, texts, purpose);
        let answer = self.http.post(url, headers, &body).await?;
        self.api.vectors(&answer, texts.len()).map_err(|reason| EmbedFailure::of_answer(&reason))
    }
}

/// What the user set, or the default of the API.
fn given_or<'a>(given: &'a str, own: &'static str) -> &'a str {
    if given.trim().is_empty() { own } else { given.trim() }
}

impl EmbedFailure {
    /// An answer arrived, but is unusable.
    fn of_answer(reason: &str) -> Self {
        Self { reason: format!("unusable answer: {reason}"), retry_after: None, is_refusal: false }
    }
}

impl From<CallError> for EmbedFailure {
    fn from(error: CallError) -> Self {
        Self {
            retry_after: error.retry_after(),
            is_refusal: matches!(error, CallError::Rejected { .. }),
            reason: error.to_string(),
        }
    }
}

/// Splits texts into groups that fit into one request.
fn portions(texts: &[String]) -> Vec<&[String]> {
    let mut portions = Vec::new();
    let mut rest = texts;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = |text: &&String| {
            bytes += text.len();
            bytes <= MAX_BYTES
        };
        let count = rest.iter().take(MAX_TEXTS).take_while(fits).count().max(1);
        let (portion, others) = rest.split_at(count);
        portions.push(portion);
        rest = others;
    }
    portions
}

/// Redacts and cuts texts before they are sent. Runs on a blocking thread, because it takes a while.
async fn sendable(texts: Vec<String>, longest: usize) -> Result<Vec<String>, EmbedFailure> {
    let clean = move || -> Vec<String> {
        texts
            .iter()
            .map(|text| {
                let clean = privacy::clean_text(text);
                // Some services refuse a text without letters.
                if clean.trim().is_empty() { "-".to_owned() } else { prefix(&clean, longest).to_owned() }
            })
            .collect()
    };
    tokio::task::spawn_blocking(clean).await.map_err(|_| EmbedFailure {
        reason: "redacting the text hit a bug".to_owned(),
        retry_after: None,
        is_refusal: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitting_texts_into_requests_loses_none() {
        let lengths =
            |texts: &[String]| portions(texts).iter().map(|portion| portion.len()).collect::<Vec<_>>();
        assert_eq!(lengths(&vec!["short".to_owned(); 70]), [32, 32, 6]);
        assert_eq!(lengths(&vec!["x".repeat(8_000); 9]), [4, 4, 1]);
        assert_eq!(lengths(&["x".repeat(40_000), "y".to_owned()]), [1, 1]);
        assert_eq!(lengths(&[]), [0_usize; 0]);
    }
}
