//! How the daemon is spoken to: datagrams to a Unix socket in the data directory, which only the user can enter.
//!
//! A hook says that something came in, with its version, and does not wait: a datagram costs microseconds and never
//! blocks. A daemon that hears of a newer version finishes and makes room for it.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use remora_store::DataDir;

/// Longer paths do not fit into a socket's address.
const LONGEST_PATH: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Something came in; the version is the sender's.
    Poke(String),
    Stop,
}

impl Message {
    fn to_text(&self) -> String {
        match self {
            Self::Poke(version) => format!("poke {version}"),
            Self::Stop => "stop".to_owned(),
        }
    }

    /// A message that is not understood is a reason to look, and no more.
    pub fn from_text(text: &str) -> Self {
        match text.split_once(' ') {
            Some(("poke", version)) => Self::Poke(version.to_owned()),
            _ if text == "stop" => Self::Stop,
            _ => Self::Poke(String::new()),
        }
    }
}

/// Tells the daemon. An error means that none listens.
pub fn send(dir: &DataDir, message: &Message) -> io::Result<()> {
    let address = Address::of(dir)?;
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    match socket.send_to(message.to_text().as_bytes(), &address.path) {
        Ok(_) => Ok(()),
        // Its queue is full: it knows that there is work.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(error),
    }
}

/// The socket in the data directory.
pub const NAME: &str = "daemon.sock";

/// The socket's path, by way of the open directory where the full one is too long.
#[derive(Debug)]
pub struct Address {
    pub path: PathBuf,
    _directory: Option<File>,
}

impl Address {
    pub fn of(dir: &DataDir) -> io::Result<Self> {
        let path = dir.path().join(NAME);
        if path.as_os_str().len() <= LONGEST_PATH {
            return Ok(Self { path, _directory: None });
        }
        let directory = File::open(dir.path())?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/{NAME}", directory.as_raw_fd()));
        Ok(Self { path, _directory: Some(directory) })
    }
}
