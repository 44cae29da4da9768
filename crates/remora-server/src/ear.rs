//! The daemon's socket for messages from hooks and commands; see `remora_client::control`.

use std::fs;
use std::io;
use std::path::PathBuf;

use remora_client::control::{Address, Message, NAME};
use remora_store::DataDir;

/// The listening end of the control socket.
#[derive(Debug)]
pub(crate) struct ControlSocket {
    socket: tokio::net::UnixDatagram,
    path: PathBuf,
}

impl ControlSocket {
    /// Binds the socket. Replaces one left behind by a dead daemon, which is safe because the caller holds
    /// the lock.
    pub(crate) fn open(dir: &DataDir) -> io::Result<Self> {
        let address = Address::of(dir)?;
        let path = dir.path().join(NAME);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = tokio::net::UnixDatagram::bind(&address.path)?;
        Ok(Self { socket, path })
    }

    /// Waits for the next message.
    pub(crate) async fn listen(&self) -> io::Result<Message> {
        let mut buffer = [0; 256];
        let length = self.socket.recv(&mut buffer).await?;
        Ok(Message::from_text(&String::from_utf8_lossy(&buffer[..length])))
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // Best effort: senders get an error from a leftover socket just as from a missing one.
        let _ = fs::remove_file(&self.path);
    }
}
