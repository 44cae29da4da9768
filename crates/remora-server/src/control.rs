//! How the daemon is spoken to: datagrams to a Unix socket in the data directory, which only the user can enter.
//!
//! A hook says that something came in, with its version, and does not wait: a datagram costs microseconds and never
//! blocks. A daemon that hears of a newer version finishes and makes room for it.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::time::Duration;

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

    /// Whatever is not understood is a reason to look, and no more.
    fn from_text(text: &str) -> Self {
        match text.split_once(' ') {
            Some(("poke", version)) => Self::Poke(version.to_owned()),
            _ if text == "stop" || text == SIGNAL => Self::Stop,
            _ => Self::Poke(String::new()),
        }
    }
}

/// What a signal handler writes: one byte.
const SIGNAL: &str = "X";

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

/// A way for signals to reach the daemon.
pub(crate) fn mouth(dir: &DataDir) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.connect(&Address::of(dir)?.path)?;
    Ok(socket)
}

/// The daemon's ear.
#[derive(Debug)]
pub(crate) struct Ear {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Ear {
    /// Listens; a socket left behind by a dead daemon is replaced, which the caller's lock makes safe.
    pub(crate) fn open(dir: &DataDir) -> io::Result<Self> {
        let address = Address::of(dir)?;
        let path = dir.path().join(NAME);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixDatagram::bind(&address.path)?;
        Ok(Self { socket, path })
    }

    /// Waits for the next message; `None` when nothing came in time.
    pub(crate) fn listen(&self, patience: Duration) -> io::Result<Option<Message>> {
        self.socket.set_read_timeout(Some(patience.max(Duration::from_millis(1))))?;
        let mut buffer = [0; 256];
        match self.socket.recv(&mut buffer) {
            Ok(length) => Ok(Some(Message::from_text(&String::from_utf8_lossy(&buffer[..length])))),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        // A socket without a listener refuses; one that is gone says so too.
        let _ = fs::remove_file(&self.path);
    }
}

const NAME: &str = "daemon.sock";

/// The socket's path, by way of the open directory where the full one is too long.
struct Address {
    path: PathBuf,
    _directory: Option<File>,
}

impl Address {
    fn of(dir: &DataDir) -> io::Result<Self> {
        let path = dir.path().join(NAME);
        if path.as_os_str().len() <= LONGEST_PATH {
            return Ok(Self { path, _directory: None });
        }
        let directory = File::open(dir.path())?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/{NAME}", directory.as_raw_fd()));
        Ok(Self { path, _directory: Some(directory) })
    }
}
