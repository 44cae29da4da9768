//! The pinned certificate. Obsidian's is self-signed, so the first one seen at an address is stored, and from then on
//! no other is accepted. Signatures are always verified: the server must prove that it has the certificate's key.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use remora_store::{DataDir, hex};
use remora_sys::file::{read_small, replace};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use sha2::{Digest, Sha256};

/// The SHA-256 of the certificate that is trusted at this address, if any.
pub fn trusted(dir: &DataDir, address: &str) -> io::Result<Option<String>> {
    let text = match read_small(&dir.obsidian_certificate()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    let mut words = text.split_whitespace();
    let (of, fingerprint) = (words.next(), words.next());
    Ok(fingerprint.filter(|_| of == Some(address)).map(str::to_owned))
}

/// Trusts this certificate at this address from now on, and no other.
pub fn trust(dir: &DataDir, address: &str, fingerprint: &str) -> io::Result<()> {
    replace(&dir.obsidian_certificate(), format!("{address} {fingerprint}\n").as_bytes())
}

/// Accepts the one wanted certificate, or any if none is wanted. Records the certificate that was offered.
#[derive(Debug)]
pub(crate) struct Pinned {
    wanted: Option<String>,
    offered: Mutex<Option<String>>,
    provider: Arc<CryptoProvider>,
}

impl Pinned {
    pub(crate) fn new(wanted: Option<String>, provider: Arc<CryptoProvider>) -> Self {
        Self { wanted, offered: Mutex::default(), provider }
    }

    pub(crate) fn takes(&self, fingerprint: &str) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted == fingerprint)
    }

    pub(crate) fn offered(&self) -> Option<String> {
        self.offered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let offered = hex(&Sha256::digest(end_entity));
        let is_wanted = self.takes(&offered);
        *self.offered.lock().unwrap_or_else(PoisonError::into_inner) = Some(offered);
        if is_wanted {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Error::General("not the trusted certificate".to_owned()))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
