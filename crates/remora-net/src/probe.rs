//! Checks whether an address can be reached. Nothing is sent, so it costs nothing and needs no key.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use reqwest::Url;

use crate::http::is_loopback;

/// Timeout for one address of the host. Short, because the user is waiting.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(2);

/// Outcome of an attempt to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reached {
    Yes,
    /// Requests go through a proxy, so a direct connection would prove nothing.
    BehindProxy,
    No(String),
}

/// Connects to the host of a base URL and closes the connection.
pub fn probe(base_url: &str, variable: &dyn Fn(&str) -> Option<String>) -> Reached {
    let url = match Url::parse(base_url) {
        Ok(url) => url,
        Err(error) => return Reached::No(error.to_string()),
    };
    let has_proxy = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
        .into_iter()
        .any(|name| variable(name).is_some_and(|value| !value.is_empty()));
    if has_proxy && !is_loopback(&url) {
        return Reached::BehindProxy;
    }
    let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) else {
        return Reached::No("it names no host".to_owned());
    };
    let addresses = match (host.trim_matches(['[', ']']), port).to_socket_addrs() {
        Ok(addresses) => addresses.collect::<Vec<_>>(),
        Err(error) => return Reached::No(error.to_string()),
    };
    let mut reason = "it has no address".to_owned();
    // One address of each family: a host may have many, and each attempt may take until the timeout.
    let firsts =
        [SocketAddr::is_ipv6, SocketAddr::is_ipv4].map(|family| addresses.iter().find(|one| family(one)));
    for address in firsts.into_iter().flatten() {
        match TcpStream::connect_timeout(address, ADDRESS_TIMEOUT) {
            Ok(_) => return Reached::Yes,
            Err(error) => reason = error.to_string(),
        }
    }
    Reached::No(reason)
}
