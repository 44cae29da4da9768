//! A router that can list its own routes, which axum's cannot.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodRouter, delete, get, patch, post, put};

use super::Http;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
}

#[derive(Debug, Default)]
pub(super) struct Routes {
    router: Router<Arc<Http>>,
    list: Vec<Route>,
}

impl Routes {
    pub(super) fn get<T: 'static>(self, path: &'static str, handler: impl Handler<T, Arc<Http>>) -> Self {
        self.add("GET", path, get(handler))
    }

    pub(super) fn post<T: 'static>(self, path: &'static str, handler: impl Handler<T, Arc<Http>>) -> Self {
        self.add("POST", path, post(handler))
    }

    pub(super) fn put<T: 'static>(self, path: &'static str, handler: impl Handler<T, Arc<Http>>) -> Self {
        self.add("PUT", path, put(handler))
    }

    pub(super) fn patch<T: 'static>(self, path: &'static str, handler: impl Handler<T, Arc<Http>>) -> Self {
        self.add("PATCH", path, patch(handler))
    }

    pub(super) fn delete<T: 'static>(self, path: &'static str, handler: impl Handler<T, Arc<Http>>) -> Self {
        self.add("DELETE", path, delete(handler))
    }

    pub(super) fn merge(mut self, other: Self) -> Self {
        self.list.extend(other.list);
        Self { router: self.router.merge(other.router), list: self.list }
    }

    pub(super) fn list(self) -> Vec<Route> {
        self.list
    }

    pub(super) fn into_router(self) -> Router<Arc<Http>> {
        self.router
    }

    fn add(mut self, method: &'static str, path: &'static str, handler: MethodRouter<Arc<Http>>) -> Self {
        self.list.push(Route { method, path });
        Self { router: self.router.route(path, handler), list: self.list }
    }
}
