//! What was learned before and after something.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use remora_app::records::record_id;
use remora_app::timeline::{Around, DEFAULT_LENGTH, Timeline, TimelineRequest, best_of};

use super::error::ApiError;
use super::routes::Routes;
use super::search::{Pairs, one, within};
use super::{Http, project};

const MOST: usize = 100;

pub(super) fn router() -> Routes {
    Routes::default().get("/api/timeline", timeline)
}

async fn timeline(State(http): State<Arc<Http>>, pairs: Pairs) -> Result<Json<Timeline>, ApiError> {
    let Query(pairs) = pairs?;
    let mut request =
        TimelineRequest { whose: None, around: Around::Now, before: DEFAULT_LENGTH, after: DEFAULT_LENGTH };
    let (mut named, mut cwd, mut text) = (None, None, None);
    for (name, value) in pairs {
        let count = |value: &str| {
            one(&name, value, within(0, MOST)).map(|number| u32::try_from(number).unwrap_or(DEFAULT_LENGTH))
        };
        match name.as_str() {
            "anchor" => request.around = Around::Record(one(&name, &value, record_id)?),
            "query" | "q" => text = Some(value),
            "project" => named = Some(value),
            "cwd" => cwd = Some(value),
            "before" => request.before = count(&value)?,
            "after" => request.after = count(&value)?,
            _ => {
                return Err(ApiError::invalid(
                    format!("there is no parameter `{name}`"),
                    "docs/http.md lists the parameters",
                ));
            }
        }
    }
    // An id says by itself which project is meant.
    if named.is_some() || cwd.is_some() || request.around == Around::Now {
        request.whose = Some(project::whose(named, cwd)?);
    }
    if let (Around::Now, Some(text)) = (&request.around, text) {
        let found = http.search(best_of(&request, &text)?).await?;
        request.around = Around::best(&found, &text)?;
    }
    let timeline = http.read(move |store| remora_app::timeline::timeline(store, &request)).await?;
    Ok(Json(timeline))
}
