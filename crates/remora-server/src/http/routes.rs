//! Routers that can list their own routes, which axum's cannot: [`Routes`] for pages, and [`ApiRoutes`] for
//! programs, whose routes also appear in the OpenAPI document.

use std::sync::Arc;

use axum::Router;
use axum::extract::{FromRequestParts as _, Request};
use axum::handler::Handler;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, delete, get, patch, post, put};

use super::Http;
use super::asked::{Nothing, Query};
use super::operation::{Endpoint, Operation, Schemas};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
}

/// Generates the description of an operation.
pub(super) type Describe = fn(&mut Schemas) -> Operation;

#[derive(Debug, Default)]
pub(super) struct Routes {
    router: Router<Arc<Http>>,
    list: Vec<(Route, Option<Describe>)>,
}

impl Routes {
    pub(super) fn get<T: 'static>(self, path: &'static str, handler: impl Handler<T, Arc<Http>>) -> Self {
        self.add(Route { method: "GET", path }, get(handler), None)
    }

    pub(super) fn post<T: 'static>(self, path: &'static str, handler: impl Handler<T, Arc<Http>>) -> Self {
        self.add(Route { method: "POST", path }, post(handler), None)
    }

    pub(super) fn merge(mut self, other: impl Into<Self>) -> Self {
        let other = other.into();
        self.list.extend(other.list);
        Self { router: self.router.merge(other.router), list: self.list }
    }

    pub(super) fn list(&self) -> impl Iterator<Item = Route> {
        self.list.iter().map(|(route, _)| *route)
    }

    /// Routes that appear in the OpenAPI document.
    pub(super) fn operations(self) -> impl Iterator<Item = (Route, Describe)> {
        self.list.into_iter().filter_map(|(route, describe)| Some((route, describe?)))
    }

    pub(super) fn into_router(self) -> Router<Arc<Http>> {
        self.router
    }

    fn add(mut self, route: Route, handler: MethodRouter<Arc<Http>>, describe: Option<Describe>) -> Self {
        self.list.push((route, describe));
        Self { router: self.router.route(route.path, handler), list: self.list }
    }
}

#[derive(Debug, Default)]
pub(super) struct ApiRoutes(Routes);

macro_rules! methods {
    ($($function:ident $method:literal)*) => {$(
        pub(super) fn $function<T: 'static, H: Endpoint<T>>(self, path: &'static str, handler: H) -> Self {
            let handler = $function(handler);
            let handler = if H::ASKS { handler } else { handler.layer(middleware::from_fn(without_parameters)) };
            Self(self.0.add(Route { method: $method, path }, handler, Some(H::describe)))
        }
    )*};
}

impl ApiRoutes {
    methods! { get "GET" post "POST" put "PUT" patch "PATCH" delete "DELETE" }
}

/// Rejects parameters of a handler that takes none: a mistyped filter would return too much.
async fn without_parameters(request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match Query::<Nothing>::from_request_parts(&mut parts, &()).await {
        Ok(_) => next.run(Request::from_parts(parts, body)).await,
        Err(error) => error.into_response(),
    }
}

impl From<ApiRoutes> for Routes {
    fn from(api: ApiRoutes) -> Self {
        api.0
    }
}
