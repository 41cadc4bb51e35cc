//! The server: answers each request with as many bytes as its path says.

use std::convert::Infallible;
use std::future::poll_fn;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use anyhow::{Context, Result};
use bytes::Bytes;
use h3::server::RequestResolver;
use hyper::body::Incoming;
use hyper::http::{Request, Version};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::socket::{setsockopt, sockopt};

use super::body::{respond, urgency_of};
use super::reactor::Reactor;
use super::stream::Stream;
use super::tasks::Spawner;
use super::transport::Carrier;
use crate::traffic::connection::Listener;

/// Requests of a connection at once, as quinn lets HTTP/3 have them.
const REQUESTS: u32 = 100;

/// A server over TCP.
pub struct TcpServer {
    pub reactor: Rc<Reactor>,
    pub spawner: Spawner,
    /// None: not encrypted.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    pub version: Version,
}

impl TcpServer {
    /// Serves all connections.
    pub async fn run(self: Rc<Self>, listener: Listener) -> Result<()> {
        let fd = listener.socket.as_raw_fd();
        fcntl(&listener.socket, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).context("listener")?;
        let interest = self.reactor.add(fd)?;
        loop {
            let socket = poll_fn(|cx| match listener.accept_now() {
                Ok(None) => {
                    interest.read(cx);
                    Poll::Pending
                }
                Ok(Some(socket)) => Poll::Ready(Ok(socket)),
                Err(e) => Poll::Ready(Err(e)),
            });
            let (server, socket) = (Rc::clone(&self), socket.await?);
            self.spawner.start(async move {
                // What is wrong with a connection is the client's to report.
                let _ = server.serve(socket).await;
            })?;
        }
    }

    async fn serve(&self, socket: OwnedFd) -> Result<()> {
        setsockopt(&socket, sockopt::TcpNoDelay, &true)?;
        let mut stream = Stream::new(&self.reactor, socket)?;
        if let Some(tls) = &self.tls {
            stream.decrypt(tls).await?;
        }
        let answer = service_fn(|request: Request<Incoming>| async move {
            Ok::<_, Infallible>(respond(&request))
        });
        if self.version == Version::HTTP_2 {
            let mut builder = http2::Builder::new(self.spawner.clone());
            builder.max_concurrent_streams(REQUESTS);
            builder.serve_connection(stream, answer).await?;
        } else {
            http1::Builder::new()
                .serve_connection(stream, answer)
                .await?;
        }
        Ok(())
    }
}

/// Serves a connection of HTTP/3.
pub async fn serve_quic(carrier: Carrier, spawner: Spawner) -> Result<()> {
    let mut connection = h3::server::builder()
        .send_grease(false)
        .build(carrier.clone())
        .await?;
    while let Some(request) = connection.accept().await? {
        let carrier = carrier.clone();
        spawner.start(async move {
            // What is wrong with a request is the client's to report.
            let _ = answer(request, carrier).await;
        })?;
    }
    Ok(())
}

/// Answers a request; of several those that are more urgent first.
async fn answer(request: RequestResolver<Carrier, Bytes>, carrier: Carrier) -> Result<()> {
    let (request, mut stream) = request.resolve_request().await?;
    carrier.set_priority(stream.send_id(), -i32::from(urgency_of(&request)));
    let (head, mut content) = respond(&request).into_parts();
    stream
        .send_response(hyper::http::Response::from_parts(head, ()))
        .await?;
    while let Some(bytes) = content.take() {
        stream.send_data(bytes).await?;
    }
    stream.finish().await?;
    Ok(())
}
