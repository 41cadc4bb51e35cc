//! TLS 1.3 of both ends, with one cipher suite, one group and one certificate, so that messages have the same lengths in
//! every run.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, anyhow};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    ClientSessionStore, Resumption, Tls12ClientSessionValue, Tls13ClientSessionValue,
};
use rustls::crypto::{CryptoProvider, ring as provider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, NamedGroup, PeerMisbehaved,
    ServerConfig, SignatureScheme,
};

use super::certificate;
use crate::traffic::threads::lock;

/// The name that the client asks for.
pub const SERVER_NAME: &str = "netwarp";
/// A server accepts 0-RTT in QUIC only with this limit, which QUIC itself replaces (RFC 9001, section 4.6.1).
const UNLIMITED_EARLY_DATA: u32 = u32::MAX;
/// Session tickets that the server sends on each connection.
const TICKETS: usize = 2;

/// The server's side of QUIC, for an application protocol (ALPN).
pub fn quic_server(protocol: &[u8]) -> Result<QuicServerConfig> {
    let mut config = server(protocol)?;
    config.max_early_data_size = UNLIMITED_EARLY_DATA;
    config
        .try_into()
        .context("cipher suite of QUIC's first packets")
}

/// The client's side of QUIC, which resumes connections if it has a place for its session tickets. rustls resumes only
/// those that were made with the same `config` or a clone of it.
pub fn quic_client(
    mut config: ClientConfig,
    tickets: Option<&Arc<Tickets>>,
) -> Result<QuicClientConfig> {
    if let Some(tickets) = tickets {
        config.enable_early_data = true;
        let store: Arc<dyn ClientSessionStore> = Arc::<Tickets>::clone(tickets);
        config.resumption = Resumption::store(store);
    }
    config
        .try_into()
        .context("cipher suite of QUIC's first packets")
}

/// The server's side, for an application protocol (ALPN).
pub fn server(protocol: &[u8]) -> Result<ServerConfig> {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(certificate::key()));
    let mut config = ServerConfig::builder_with_provider(provider_of_lab())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![own_certificate()?], key)?;
    config.alpn_protocols = vec![protocol.to_vec()];
    config.send_tls13_tickets = TICKETS;
    Ok(config)
}

/// The client's side, whose handshakes are all full ones unless `quic_client` says otherwise.
pub fn client(protocol: &[u8]) -> Result<ClientConfig> {
    let provider = provider_of_lab();
    let verifier = OwnCertificate {
        expected: own_certificate()?,
        provider: Arc::clone(&provider),
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn own_certificate() -> Result<CertificateDer<'static>> {
    let encoded = certificate::certificate().map_err(|e| anyhow!("certificate: {e}"))?;
    Ok(encoded.into())
}

fn provider_of_lab() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![provider::cipher_suite::TLS13_AES_128_GCM_SHA256],
        kx_groups: vec![provider::kx_group::X25519],
        ..provider::default_provider()
    })
}

/// Accepts the one certificate of the labs, and checks that the server has its key.
#[derive(Debug)]
struct OwnCertificate {
    expected: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for OwnCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match *end_entity == self.expected {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

/// The session tickets of one client, each of which is used once.
#[derive(Default)]
pub struct Tickets {
    held: Arc<Mutex<Vec<Tls13ClientSessionValue>>>,
    /// How many have come through this handle.
    brought: AtomicUsize,
}

impl Tickets {
    pub fn is_empty(&self) -> bool {
        lock(&self.held).is_empty()
    }

    /// A handle of the same tickets, for one connection.
    pub fn of_connection(&self) -> Arc<Self> {
        Arc::new(Self {
            held: Arc::clone(&self.held),
            brought: AtomicUsize::new(0),
        })
    }

    /// Whether the connection of this handle has brought all of its tickets.
    pub fn are_complete(&self) -> bool {
        self.brought.load(Ordering::Relaxed) >= TICKETS
    }
}

impl fmt::Debug for Tickets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tickets({})", lock(&self.held).len())
    }
}

impl ClientSessionStore for Tickets {
    fn set_kx_hint(&self, _server_name: ServerName<'static>, _group: NamedGroup) {}

    fn kx_hint(&self, _server_name: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(
        &self,
        _server_name: ServerName<'static>,
        _value: Tls12ClientSessionValue,
    ) {
    }

    fn tls12_session(&self, _server_name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _server_name: &ServerName<'static>) {}

    fn insert_tls13_ticket(
        &self,
        _server_name: ServerName<'static>,
        value: Tls13ClientSessionValue,
    ) {
        lock(&self.held).push(value);
        self.brought.fetch_add(1, Ordering::Relaxed);
    }

    fn take_tls13_ticket(
        &self,
        _server_name: &ServerName<'static>,
    ) -> Option<Tls13ClientSessionValue> {
        lock(&self.held).pop()
    }
}
