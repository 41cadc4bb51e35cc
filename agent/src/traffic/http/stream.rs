//! A TCP connection as hyper reads and writes it, encrypted or not.

use std::future::poll_fn;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, OwnedFd};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::rt;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};

use super::reactor::{Interest, Reactor};
use crate::traffic::options::set_number;
use crate::traffic::quic::tls::SERVER_NAME;

/// Bytes that are read at once: the largest record of TLS (RFC 8446, section 5.1).
const READ: usize = 1 << 14;

/// The connection.
pub struct Stream {
    /// None once it is closed.
    socket: Option<TcpStream>,
    tls: Option<Connection>,
    interest: Rc<Interest>,
    reactor: Rc<Reactor>,
    buffer: Vec<u8>,
}

impl Stream {
    /// Takes a socket that does not block, and is connecting or connected.
    pub fn new(reactor: &Rc<Reactor>, socket: OwnedFd) -> anyhow::Result<Self> {
        Ok(Self {
            interest: reactor.add(socket.as_raw_fd())?,
            socket: Some(TcpStream::from(socket)),
            tls: None,
            reactor: Rc::clone(reactor),
            buffer: vec![0; READ],
        })
    }

    /// Waits until it is connected.
    pub async fn connected(&self) -> Result<()> {
        poll_fn(|cx| {
            let socket = self.socket()?;
            if let Some(error) = socket.take_error()? {
                return Poll::Ready(Err(error));
            }
            match socket.peer_addr() {
                Err(e) if e.kind() == ErrorKind::NotConnected => {
                    self.interest.write(cx);
                    Poll::Pending
                }
                found => Poll::Ready(found.map(drop)),
            }
        })
        .await
    }

    /// Makes TLS's handshake as the client.
    pub async fn encrypt(&mut self, config: &Arc<ClientConfig>) -> anyhow::Result<()> {
        let name = ServerName::try_from(SERVER_NAME)?;
        let client = ClientConnection::new(Arc::clone(config), name)?;
        Ok(self.shake_hands(Connection::Client(client)).await?)
    }

    /// Makes TLS's handshake as the server.
    pub async fn decrypt(&mut self, config: &Arc<ServerConfig>) -> anyhow::Result<()> {
        let server = ServerConnection::new(Arc::clone(config))?;
        Ok(self.shake_hands(Connection::Server(server)).await?)
    }

    async fn shake_hands(&mut self, tls: Connection) -> Result<()> {
        self.tls = Some(tls);
        poll_fn(|cx| {
            loop {
                ready!(self.poll_out(cx))?;
                if self.tls.as_ref().is_none_or(|tls| !tls.is_handshaking()) {
                    return Poll::Ready(Ok(()));
                }
                if ready!(self.poll_in(cx))? == 0 {
                    return Poll::Ready(Err(ErrorKind::UnexpectedEof.into()));
                }
            }
        })
        .await
    }

    fn socket(&self) -> Result<&TcpStream> {
        self.socket
            .as_ref()
            .ok_or_else(|| ErrorKind::NotConnected.into())
    }

    /// Holds back what is sent from now on until this end is closed, so that it leaves in one segment with the FIN: Linux
    /// counts an ACK of a part of it as dropped.
    fn hold_back(&self) {
        if let Some(socket) = &self.socket {
            // Without it there are more segments.
            let _ = set_number(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CORK, 1);
        }
    }

    /// Sends the records that are ready.
    fn poll_out(&mut self, cx: &Context<'_>) -> Poll<Result<()>> {
        let (Some(tls), Some(mut socket)) = (&mut self.tls, self.socket.as_ref()) else {
            return Poll::Ready(Ok(()));
        };
        while tls.wants_write() {
            match tls.write_tls(&mut socket) {
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.interest.write(cx);
                    return Poll::Pending;
                }
                Err(e) => return Poll::Ready(Err(e)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Takes records that have arrived; returns the number of bytes, 0 at the end.
    fn poll_in(&mut self, cx: &Context<'_>) -> Poll<Result<usize>> {
        let (Some(tls), Some(mut socket)) = (&mut self.tls, self.socket.as_ref()) else {
            return Poll::Ready(Ok(0));
        };
        match tls.read_tls(&mut socket) {
            Ok(got) => {
                let taken = tls.process_new_packets();
                Poll::Ready(
                    taken
                        .map(|_| got)
                        .map_err(|e| Error::new(ErrorKind::InvalidData, e)),
                )
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                self.interest.read(cx);
                Poll::Pending
            }
            Err(e) => Poll::Ready(Err(e)),
        }
    }

    /// Reads at most `room` bytes into the buffer; returns their number, 0 at the end.
    fn poll_plain(&mut self, cx: &Context<'_>, room: usize) -> Poll<Result<usize>> {
        loop {
            let Some(mut socket) = self.socket.as_ref() else {
                return Poll::Ready(Ok(0));
            };
            let buffer = self.buffer.get_mut(..room.min(READ)).unwrap_or_default();
            let read = match &mut self.tls {
                Some(tls) => tls.reader().read(buffer),
                None => socket.read(buffer),
            };
            match read {
                Ok(0) if room > 0 => {
                    self.hold_back();
                    return Poll::Ready(Ok(0));
                }
                // The peer has closed without saying so in TLS.
                Err(e) if e.kind() == ErrorKind::UnexpectedEof => return Poll::Ready(Ok(0)),
                Err(e) if e.kind() == ErrorKind::WouldBlock && self.tls.is_some() => {
                    ready!(self.poll_in(cx))?;
                    // Answers to what has arrived, such as of an update of keys, leave when there is room.
                    let _ = self.poll_out(cx)?;
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.interest.read(cx);
                    return Poll::Pending;
                }
                done => return Poll::Ready(done),
            }
        }
    }
}

impl rt::Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: rt::ReadBufCursor<'_>,
    ) -> Poll<Result<()>> {
        let got = ready!(self.poll_plain(cx, buf.remaining()))?;
        buf.put_slice(self.buffer.get(..got).unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

impl rt::Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        let this = &mut *self;
        let written = match &mut this.tls {
            Some(tls) => tls.writer().write(bytes)?,
            None => match this.socket()?.write(bytes) {
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    this.interest.write(cx);
                    return Poll::Pending;
                }
                done => return Poll::Ready(done),
            },
        };
        let sent = this.poll_out(cx);
        match written {
            // TLS keeps no more than its limit of what has not been sent.
            0 if !bytes.is_empty() => {
                ready!(sent)?;
                self.poll_write(cx, bytes)
            }
            _ => {
                if let Poll::Ready(Err(e)) = sent {
                    return Poll::Ready(Err(e));
                }
                Poll::Ready(Ok(written))
            }
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        self.poll_out(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let this = &mut *self;
        this.hold_back();
        if let Some(tls) = &mut this.tls {
            tls.send_close_notify();
        }
        ready!(this.poll_out(cx))?;
        if let Some(socket) = this.socket.take() {
            this.reactor.close(socket);
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Some(socket) = self.socket.take() {
            self.reactor.close(socket);
        }
    }
}
