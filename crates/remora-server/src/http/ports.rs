//! The port that the daemon listens on.

use std::io;
use std::net::Ipv4Addr;

use tokio::net::TcpListener;

/// Ports above the preferred one that are tried before the system chooses one, so that users of one machine get
/// neighbouring ports.
const NEIGHBOURS: u16 = 20;

/// The ports to try, in order; 0 stands for any port.
fn ports(preferred: u16) -> impl Iterator<Item = u16> {
    let last = if preferred == 0 { 0 } else { preferred.saturating_add(NEIGHBOURS) };
    (preferred..=last).chain((preferred != 0).then_some(0))
}

/// Binds the first free port, on the loopback address only.
pub(super) async fn bind(preferred: u16) -> io::Result<TcpListener> {
    let mut failed = io::Error::other("no port was tried");
    for port in ports(preferred) {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(listener) => return Ok(listener),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_port_comes_first_and_any_last() {
        let tried: Vec<u16> = ports(37777).collect();
        assert_eq!((tried[0], tried[1], tried[20], tried[21]), (37777, 37778, 37797, 0));
        assert_eq!(ports(0).collect::<Vec<_>>(), [0]);
        assert_eq!(ports(u16::MAX).collect::<Vec<_>>(), [u16::MAX, 0]);
    }
}
