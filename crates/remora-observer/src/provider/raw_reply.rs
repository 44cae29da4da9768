//! The answer of an API, and whether it is usable.

use remora_net::Http;

use super::{ProviderError, Reply, Request, Usage};

/// An answer in the API's own fields, before it is checked.
pub(super) struct RawReply {
    pub(super) text: String,
    pub(super) model: Option<String>,
    pub(super) usage: Option<Usage>,
    /// Why the model stopped, in the provider's words.
    pub(super) finish: String,
    /// Whether the model or a filter refused to answer.
    pub(super) is_refusal: bool,
}

impl RawReply {
    pub(super) fn into_reply(
        self,
        http: &Http,
        model: &str,
        request: &Request<'_>,
    ) -> Result<Reply, ProviderError> {
        let usage = self.usage.unwrap_or_else(|| Usage::estimate(request, &self.text));
        let finish = if self.finish.is_empty() { "no reason given" } else { &self.finish };
        let problem = if self.is_refusal {
            Some(format!("the model refused ({finish})"))
        } else if self.text.trim().is_empty() {
            Some(format!("no text ({finish})"))
        } else {
            None
        };
        if let Some(reason) = problem {
            let (reason, beginning) = (http.scrub(&reason), http.scrub(&self.text));
            return Err(ProviderError::bad_answer(&reason, &beginning, usage));
        }
        let model = self.model.unwrap_or_else(|| model.to_owned());
        Ok(Reply { text: self.text, model, usage, session_id: None })
    }
}
