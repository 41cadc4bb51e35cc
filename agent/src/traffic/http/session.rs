//! The connections of one page, over which its objects are fetched.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use bytes::Bytes;
use futures_channel::oneshot;
use http_body::Body;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::http::{Response, StatusCode, Version};

use super::body::{Zeros, request};
use super::log::Log;
use super::pages::Planned;
use super::reactor::Reactor;
use super::resumption;
use super::stream::Stream;
use super::tasks::Spawner;
use super::transport::Carrier;
use crate::traffic::ports::Ports;

/// The flow-control windows of HTTP/2, the largest that it has: flow control limits nothing, as with QUIC.
const WINDOW: u32 = (1 << 31) - 1;

/// How connections are made.
pub enum Way {
    Tcp {
        reactor: Rc<Reactor>,
        ports: RefCell<Ports>,
        /// None: not encrypted.
        tls: Option<Arc<rustls::ClientConfig>>,
    },
    Quic(Rc<resumption::Client>),
}

/// A client, whatever its version.
pub struct Connector {
    pub way: Way,
    pub version: Version,
    pub to: SocketAddr,
    /// Connections of a session with HTTP/1.1, at most.
    pub connections: usize,
    pub spawner: Spawner,
    pub log: Log,
}

/// The connections of a page.
pub enum Session {
    One(Rc<Pool>),
    Two(http2::SendRequest<Zeros>, u32),
    Three(h3::client::SendRequest<Carrier, Bytes>, u32),
}

/// The object that is fetched: its page, and its number there.
#[derive(Clone, Copy)]
pub struct Place {
    pub page: usize,
    pub object: usize,
}

impl Connector {
    /// Begins a page's session: with HTTP/1.1 connections are opened when they are needed.
    pub async fn session(self: &Rc<Self>, page: usize) -> Result<Session> {
        match self.version {
            Version::HTTP_11 => Ok(Session::One(Rc::new(Pool::new(Rc::clone(self), page)))),
            Version::HTTP_2 => {
                let (stream, number) = self.open_stream(page).await?;
                let (sender, connection) = http2::Builder::new(self.spawner.clone())
                    .initial_stream_window_size(WINDOW)
                    .initial_connection_window_size(WINDOW)
                    .handshake(stream)
                    .await?;
                self.spawner.start(async {
                    // Requests learn of its failure.
                    let _ = connection.await;
                })?;
                Ok(Session::Two(sender, number))
            }
            _ => self.open_quic(page).await,
        }
    }

    async fn open_quic(&self, page: usize) -> Result<Session> {
        let Way::Quic(client) = &self.way else {
            return Err(anyhow!("HTTP/3 needs QUIC"));
        };
        let number = self.log.open(page);
        let connected = client.connect(self.to).await?;
        let complete = client.tickets_of(&connected);
        let carrier = Carrier::new(&client.endpoint, connected.number, connected.link);
        let (mut connection, sender) = h3::client::builder()
            .send_grease(false)
            .build(carrier)
            .await?;
        self.spawner.start(async move {
            // Requests learn of its failure.
            let _ = poll_fn(|cx| connection.poll_close(cx)).await;
        })?;
        if let Some(complete) = complete {
            // h3 closes the connection with its last sender. A short page ends before the tickets are here, which the
            // next pages need.
            let kept = sender.clone();
            self.spawner.start(async move {
                complete.await;
                drop(kept);
            })?;
        }
        self.log.connect(page);
        Ok(Session::Three(sender, number))
    }

    /// Opens a connection over TCP, and returns its number in the page.
    async fn open_stream(&self, page: usize) -> Result<(Stream, u32)> {
        let Way::Tcp {
            reactor,
            ports,
            tls,
        } = &self.way
        else {
            return Err(anyhow!("HTTP/{:?} needs TCP", self.version));
        };
        let number = self.log.open(page);
        let socket = ports.borrow_mut().connecting()?;
        let mut stream = Stream::new(reactor, socket)?;
        let connected = stream.connected().await;
        connected.with_context(|| format!("cannot connect to {}", self.to))?;
        if let Some(tls) = tls {
            stream.encrypt(tls).await.context("TLS")?;
        }
        self.log.connect(page);
        Ok((stream, number))
    }

    /// Fetches an object.
    pub async fn fetch(&self, session: &Session, planned: Planned, at: Place) -> Result<()> {
        let Planned { bytes, urgency, .. } = planned;
        match session {
            Session::One(pool) => {
                let mut taken = pool.take().await?;
                let request = request(self.to, self.version, bytes, urgency, Zeros(0))?;
                self.log.send(at.page, at.object, taken.number);
                let response = taken.sender.send_request(request).await?;
                self.receive(response, bytes, at).await?;
                pool.give(taken);
            }
            Session::Two(sender, number) => {
                let mut sender = sender.clone();
                sender.ready().await?;
                let request = request(self.to, self.version, bytes, urgency, Zeros(0))?;
                self.log.send(at.page, at.object, *number);
                let response = sender.send_request(request).await?;
                self.receive(response, bytes, at).await?;
            }
            Session::Three(sender, number) => {
                let mut sender = sender.clone();
                let request = request(self.to, self.version, bytes, urgency, ())?;
                let mut stream = sender.send_request(request).await?;
                self.log.send(at.page, at.object, *number);
                stream.finish().await?;
                check(&stream.recv_response().await?)?;
                self.log.begin_response(at.page, at.object);
                let mut got = 0;
                while let Some(part) = stream.recv_data().await? {
                    got += bytes::Buf::remaining(&part) as u64;
                }
                self.end(got, bytes, at)?;
            }
        }
        Ok(())
    }

    /// Takes a response and its content.
    async fn receive(&self, response: Response<Incoming>, bytes: u64, at: Place) -> Result<()> {
        check(&response)?;
        self.log.begin_response(at.page, at.object);
        let mut body = pin!(response.into_body());
        let mut got = 0;
        while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            got += frame?.data_ref().map_or(0, |data| data.len() as u64);
        }
        self.end(got, bytes, at)
    }

    fn end(&self, got: u64, bytes: u64, at: Place) -> Result<()> {
        ensure!(
            got == bytes,
            "a response of {got} bytes in place of {bytes}"
        );
        self.log.end(at.page, at.object);
        Ok(())
    }
}

/// Whether TCP gave up because its peer did not answer.
pub fn has_timed_out(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| {
            let of_h2 = cause
                .downcast_ref::<h2::Error>()
                .and_then(h2::Error::get_io);
            of_h2.or_else(|| cause.downcast_ref::<std::io::Error>())
        })
        .any(|cause| cause.kind() == std::io::ErrorKind::TimedOut)
}

fn check<B>(response: &Response<B>) -> Result<()> {
    let status = response.status();
    ensure!(status == StatusCode::OK, "the server answered {status}");
    Ok(())
}

/// A connection of HTTP/1.1.
pub struct Taken {
    sender: http1::SendRequest<Zeros>,
    number: u32,
}

/// The connections of a page with HTTP/1.1. As in browsers, a request that finds none idle opens one unless there are
/// enough, and takes the first that is free, whichever that is.
pub struct Pool {
    connector: Rc<Connector>,
    page: usize,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    idle: Vec<Taken>,
    opened: usize,
    waiting: VecDeque<oneshot::Sender<Result<Taken>>>,
}

impl Pool {
    fn new(connector: Rc<Connector>, page: usize) -> Self {
        Self {
            connector,
            page,
            state: RefCell::default(),
        }
    }

    /// Takes a connection, in turn.
    async fn take(self: &Rc<Self>) -> Result<Taken> {
        let idle = self.state.borrow_mut().idle.pop();
        let mut taken = match idle {
            Some(taken) => taken,
            None => self.wait().await?,
        };
        taken.sender.ready().await?;
        Ok(taken)
    }

    async fn wait(self: &Rc<Self>) -> Result<Taken> {
        let (sender, receiver) = oneshot::channel();
        let opens = {
            let mut state = self.state.borrow_mut();
            state.waiting.push_back(sender);
            let opens = state.opened < self.connector.connections;
            state.opened += usize::from(opens);
            opens
        };
        if opens {
            let pool = Rc::clone(self);
            self.connector.spawner.start(async move {
                let opened = pool.open().await;
                pool.pass_on(opened);
            })?;
        }
        receiver.await.context("its page is over")?
    }

    async fn open(&self) -> Result<Taken> {
        let (stream, number) = self.connector.open_stream(self.page).await?;
        let (sender, connection) = http1::handshake(stream).await?;
        self.connector.spawner.start(async {
            // Requests learn of its failure.
            let _ = connection.await;
        })?;
        Ok(Taken { sender, number })
    }

    /// Gives a connection back.
    fn give(&self, taken: Taken) {
        self.pass_on(Ok(taken));
    }

    /// Gives a connection, or the reason why there is none, to the request that has waited longest.
    fn pass_on(&self, mut found: Result<Taken>) {
        let mut state = self.state.borrow_mut();
        while let Some(next) = state.waiting.pop_front() {
            match next.send(found) {
                Ok(()) => return,
                Err(back) => found = back,
            }
        }
        state.idle.extend(found);
    }
}
