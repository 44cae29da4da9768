//! A fake of Obsidian's Local REST API, with the parts that Remora uses: real TLS on a real socket, with a
//! self-signed certificate.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

pub(crate) const KEY: &str = "obsidian-key-of-this-test";

/// A vault behind the API.
pub(crate) struct Obsidian {
    pub(crate) port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    notes: Mutex<BTreeMap<String, (u64, String)>>,
    /// The decrypted head of every request.
    heard: Mutex<Vec<String>>,
    config: Mutex<Option<Arc<ServerConfig>>>,
    is_hanging: Mutex<bool>,
}

impl Obsidian {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State::default());
        let obsidian = Self { port, state: Arc::clone(&state) };
        obsidian.renew_certificate();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&state);
                // Errors of a client that disconnects are ignored.
                thread::spawn(move || serve(stream, &state));
            }
        });
        obsidian
    }

    pub(crate) fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    pub(crate) fn renew_certificate(&self) {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let certificate = CertificateDer::from(made.cert.der().to_vec());
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        *self.state.config.lock().unwrap() = Some(Arc::new(config));
    }

    pub(crate) fn write(&self, path: &str, changed_at: u64, text: &str) {
        self.state.notes.lock().unwrap().insert(path.to_owned(), (changed_at, text.to_owned()));
    }

    pub(crate) fn remove(&self, path: &str) {
        self.state.notes.lock().unwrap().remove(path);
    }

    /// From now on, accepts connections and never answers.
    pub(crate) fn hang(&self) {
        *self.state.is_hanging.lock().unwrap() = true;
    }

    /// Requests since the last call.
    pub(crate) fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.state.heard.lock().unwrap())
    }
}

fn serve(stream: TcpStream, state: &State) -> Option<()> {
    if *state.is_hanging.lock().unwrap() {
        // Waits until the client gives up.
        let _ = (&stream).read(&mut [0]);
        thread::park();
    }
    let config = state.config.lock().unwrap().clone()?;
    let mut stream = BufReader::new(StreamOwned::new(ServerConnection::new(config).ok()?, stream));
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        state.heard.lock().unwrap().push(head.clone());
        let length = crate::client::header(&head, "content-length").and_then(|length| length.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        stream.read_exact(&mut body).ok()?;
        let (status, body) = answer(state, &head, &body);
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.get_mut().write_all(head.as_bytes()).ok()?;
        stream.get_mut().write_all(body.as_bytes()).ok()?;
        stream.get_mut().flush().ok()?;
    }
}

fn answer(state: &State, head: &str, body: &[u8]) -> (u16, String) {
    let mut words = head.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if path == "/" {
        return (200, json!({"status": "OK", "authenticated": false}).to_string());
    }
    if crate::client::header(head, "authorization") != Some(&format!("Bearer {KEY}")) {
        return (401, json!({"errorCode": 40101, "message": "Authorization required."}).to_string());
    }
    let notes = state.notes.lock().unwrap();
    match (method, path) {
        ("POST", "/search/") => {
            assert_eq!(
                crate::client::header(head, "content-type"),
                Some("application/vnd.olrapi.jsonlogic+json")
            );
            let question: Value = serde_json::from_slice(body).unwrap();
            assert_eq!(question["cat"][0]["var"], "stat.mtime", "{question}");
            let listed: Vec<Value> = notes
                .iter()
                .map(|(path, (at, text))| json!({"filename": path, "result": format!("{at}-{}", text.len())}))
                .collect();
            (200, json!(listed).to_string())
        }
        ("GET", path) => match notes.get(&decoded(path.trim_start_matches("/vault/"))) {
            Some((_, text)) => (200, text.clone()),
            None => (404, String::new()),
        },
        _ => (405, String::new()),
    }
}

fn decoded(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next().unwrap(), rest.next().unwrap()];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).unwrap()
}
