//! Connections of QUIC, which may resume earlier ones: each new one takes a session ticket, and brings new ones.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use anyhow::Result;
use quinn_proto::{ClientConfig, TransportConfig, VarInt};

use super::endpoint::{Endpoint, Link};
use crate::traffic::quic::tls::{self, Tickets};

/// HTTP's code for an end without an error (RFC 9114, section 8.1).
const NO_ERROR: VarInt = VarInt::from_u32(0x100);

/// How connections are made.
pub struct Settings {
    pub tls: rustls::ClientConfig,
    pub transport: Arc<TransportConfig>,
    /// None: each handshake is a full one.
    pub tickets: Option<Arc<Tickets>>,
}

/// The client's side of QUIC.
pub struct Client {
    pub endpoint: Rc<Endpoint>,
    pub settings: Settings,
}

/// A connection that may carry requests.
pub struct Connected {
    pub number: usize,
    pub link: Rc<Link>,
    /// Those that this connection brings; None if none is wanted.
    tickets: Option<Arc<Tickets>>,
}

impl Client {
    /// Connects, with a ticket if there is one.
    pub async fn connect(&self, to: SocketAddr) -> Result<Connected> {
        let Settings {
            tls,
            transport,
            tickets,
        } = &self.settings;
        let tickets = tickets.as_ref().map(|all| all.of_connection());
        let crypto = tls::quic_client(tls.clone(), tickets.as_ref())?;
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.transport_config(Arc::clone(transport));
        let (number, link) = self.endpoint.connect(config, to).await?;
        Ok(Connected {
            number,
            link,
            tickets,
        })
    }

    /// Makes a connection only for its tickets.
    pub async fn fetch_tickets(&self, to: SocketAddr) -> Result<()> {
        let connected = self.connect(to).await?;
        if let Some(complete) = self.tickets_of(&connected) {
            complete.await;
        }
        if connected.link.lost().is_none() {
            self.endpoint.close(connected.number, NO_ERROR, b"");
        }
        Ok(())
    }

    /// Waits until a connection has brought its tickets, or is lost; None if none is wanted.
    pub fn tickets_of(&self, connected: &Connected) -> Option<impl Future<Output = ()> + use<>> {
        let own = Arc::clone(connected.tickets.as_ref()?);
        let (endpoint, link) = (Rc::clone(&self.endpoint), Rc::clone(&connected.link));
        Some(poll_fn(move |cx| {
            if own.are_complete() || link.lost().is_some() {
                return Poll::Ready(());
            }
            endpoint.turn(cx);
            Poll::Pending
        }))
    }

    /// Waits until there is a ticket.
    pub async fn ticket(&self) {
        poll_fn(|cx| {
            let tickets = self.settings.tickets.as_ref();
            if tickets.is_some_and(|all| !all.is_empty()) {
                return Poll::Ready(());
            }
            self.endpoint.turn(cx);
            Poll::Pending
        })
        .await;
    }
}
