//! Styles and scripts, embedded in the program, so that nothing is fetched from elsewhere.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::IntoResponse;

use crate::http::routes::Routes;

pub(super) fn router() -> Routes {
    Routes::default()
        .get("/assets/app.css", async || text("text/css", include_str!("../../../assets/app.css")))
        .get("/assets/app.js", async || text("text/javascript", include_str!("../../../assets/app.js")))
        .get("/assets/request.js", async || {
            text("text/javascript", include_str!("../../../assets/request.js"))
        })
        .get("/assets/settings.js", async || {
            text("text/javascript", include_str!("../../../assets/settings.js"))
        })
        .get("/assets/facts.js", async || text("text/javascript", include_str!("../../../assets/facts.js")))
        .get("/assets/playground.js", async || {
            text("text/javascript", include_str!("../../../assets/playground.js"))
        })
        .get("/assets/memory.css", async || text("text/css", include_str!("../../../assets/memory.css")))
        .get("/assets/edit.js", async || text("text/javascript", include_str!("../../../assets/edit.js")))
        .get("/assets/feed.js", async || text("text/javascript", include_str!("../../../assets/feed.js")))
        .get("/assets/list.js", async || text("text/javascript", include_str!("../../../assets/list.js")))
        .get("/assets/parts.js", async || text("text/javascript", include_str!("../../../assets/parts.js")))
        .get("/assets/parts.css", async || text("text/css", include_str!("../../../assets/parts.css")))
        .get("/assets/theme.js", async || text("text/javascript", include_str!("../../../assets/theme.js")))
        .get("/assets/icon.svg", async || text("image/svg+xml", include_str!("../../../assets/icon.svg")))
}

fn text(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-store")], text)
}
