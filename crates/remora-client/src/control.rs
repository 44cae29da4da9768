//! Messages to the daemon: datagrams to a Unix socket in the data directory, which only the user can enter.
//!
//! A hook reports that an event came in, with its version, and does not wait: a datagram costs microseconds and never
//! blocks. A daemon that receives a newer version finishes and exits.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use remora_store::DataDir;
use remora_sys::file::path_through;

/// Upper limit in bytes. Longer paths do not fit into a socket address.
const MAX_PATH_LEN: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// An event came in; the version is the sender's.
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

    /// An unknown message counts as a poke: the daemon checks the queue and does nothing else.
    pub fn from_text(text: &str) -> Self {
        match text.split_once(' ') {
            Some(("poke", version)) => Self::Poke(version.to_owned()),
            _ if text == "stop" => Self::Stop,
            _ => Self::Poke(String::new()),
        }
    }
}

/// Sends a message to the daemon. An error means that no daemon is listening.
pub fn send(dir: &DataDir, message: &Message) -> io::Result<()> {
    let address = Address::of(dir)?;
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    match socket.send_to(message.to_text().as_bytes(), &address.path) {
        Ok(_) => Ok(()),
        // The daemon's receive queue is full, so it already knows that there is work.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(error),
    }
}

/// File name of the socket in the data directory.
pub const NAME: &str = "daemon.sock";

/// The path of the socket. If the full path is too long, it goes through the descriptor of the open directory.
#[derive(Debug)]
pub struct Address {
    pub path: PathBuf,
    _directory: Option<File>,
}

impl Address {
    pub fn of(dir: &DataDir) -> io::Result<Self> {
        let path = dir.path().join(NAME);
        if path.as_os_str().len() <= MAX_PATH_LEN {
            return Ok(Self { path, _directory: None });
        }
        let directory = File::open(dir.path())?;
        let path = path_through(&directory, NAME)?;
        Ok(Self { path, _directory: Some(directory) })
    }
}
