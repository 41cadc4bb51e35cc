//! quinn-proto as the transport of h3: its traits, over the connections of an `Endpoint`.

use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use h3::error::Code;
use h3::quic::{
    self, ConnectionErrorIncoming, StreamErrorIncoming, StreamId as HttpStreamId, WriteBuf,
};
use quinn_proto::{
    Connection, ConnectionError, Dir, FinishError, ReadError, StreamId, VarInt, WriteError,
};

use super::endpoint::{Endpoint, Link};

/// A connection.
#[derive(Clone)]
pub struct Carrier {
    endpoint: Rc<Endpoint>,
    link: Rc<Link>,
    number: usize,
}

impl Carrier {
    pub fn new(endpoint: &Rc<Endpoint>, number: usize, link: Rc<Link>) -> Self {
        Self {
            endpoint: Rc::clone(endpoint),
            link,
            number,
        }
    }

    /// Lets quinn send a stream's data before that of streams with a lower priority.
    pub fn set_priority(&self, stream: HttpStreamId, priority: i32) {
        // The stream may have been reset meanwhile.
        let _ = self.on_stream(stream, |connection, id| {
            connection.send_stream(id).set_priority(priority)
        });
    }

    fn on_stream<T>(
        &self,
        stream: HttpStreamId,
        work: impl FnOnce(&mut Connection, StreamId) -> T,
    ) -> Option<T> {
        let id = StreamId::from(VarInt::from_u64(stream.into_inner()).ok()?);
        self.endpoint
            .with(self.number, |connection| work(connection, id))
    }

    fn reason(&self) -> Option<ConnectionErrorIncoming> {
        self.link.lost().map(reason_of)
    }

    /// A new stream of this end.
    fn poll_open(&self, cx: &Context<'_>, dir: Dir) -> Poll<Result<Stream, StreamErrorIncoming>> {
        if let Some(connection_error) = self.reason() {
            return Poll::Ready(Err(StreamErrorIncoming::ConnectionErrorIncoming {
                connection_error,
            }));
        }
        self.poll_stream(cx, |connection| connection.streams().open(dir))
            .map(Ok)
    }

    /// The next stream of the peer.
    fn poll_accept(
        &self,
        cx: &Context<'_>,
        dir: Dir,
    ) -> Poll<Result<Stream, ConnectionErrorIncoming>> {
        if let Some(reason) = self.reason() {
            return Poll::Ready(Err(reason));
        }
        self.poll_stream(cx, |connection| connection.streams().accept(dir))
            .map(Ok)
    }

    fn poll_stream(
        &self,
        cx: &Context<'_>,
        find: impl FnOnce(&mut Connection) -> Option<StreamId>,
    ) -> Poll<Stream> {
        let found = self.endpoint.with(self.number, find).flatten();
        // Numbers of streams are below 2^62 in both libraries.
        let numbered = found.and_then(|id| Some((id, u64::from(id).try_into().ok()?)));
        match numbered {
            Some((id, number)) => Poll::Ready(Stream {
                carrier: self.clone(),
                id,
                number,
                writing: None,
            }),
            None => {
                self.link.change(cx);
                Poll::Pending
            }
        }
    }
}

fn reason_of(reason: ConnectionError) -> ConnectionErrorIncoming {
    match reason {
        ConnectionError::ApplicationClosed(close) => ConnectionErrorIncoming::ApplicationClose {
            error_code: close.error_code.into_inner(),
        },
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

impl quic::OpenStreams<Bytes> for Carrier {
    type BidiStream = Stream;
    type SendStream = Stream;

    fn poll_open_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, StreamErrorIncoming>> {
        self.poll_open(cx, Dir::Bi)
    }

    fn poll_open_send(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::SendStream, StreamErrorIncoming>> {
        self.poll_open(cx, Dir::Uni)
    }

    fn close(&mut self, code: Code, reason: &[u8]) {
        self.endpoint
            .close(self.number, varint(code.value()), reason);
    }
}

impl quic::Connection<Bytes> for Carrier {
    type RecvStream = Stream;
    type OpenStreams = Self;

    fn poll_accept_recv(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::RecvStream, ConnectionErrorIncoming>> {
        self.poll_accept(cx, Dir::Uni)
    }

    fn poll_accept_bidi(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Self::BidiStream, ConnectionErrorIncoming>> {
        self.poll_accept(cx, Dir::Bi)
    }

    fn opener(&self) -> Self::OpenStreams {
        self.clone()
    }
}

/// A stream, or a direction of one.
pub struct Stream {
    carrier: Carrier,
    id: StreamId,
    /// The same, as h3 has it.
    number: HttpStreamId,
    /// What h3 has given, and quinn has not yet taken.
    writing: Option<WriteBuf<Bytes>>,
}

impl Stream {
    fn on<T>(
        &self,
        work: impl FnOnce(&mut Connection, StreamId) -> T,
    ) -> Result<T, StreamErrorIncoming> {
        let done = self
            .carrier
            .endpoint
            .with(self.carrier.number, |connection| work(connection, self.id));
        done.ok_or_else(|| StreamErrorIncoming::ConnectionErrorIncoming {
            connection_error: self
                .carrier
                .reason()
                .unwrap_or(ConnectionErrorIncoming::Timeout),
        })
    }
}

impl quic::SendStream<Bytes> for Stream {
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        while let Some(mut writing) = self.writing.take() {
            if !writing.has_remaining() {
                continue;
            }
            match self.on(|connection, id| connection.send_stream(id).write(writing.chunk()))? {
                Ok(written) => {
                    writing.advance(written);
                    self.writing = Some(writing);
                }
                Err(WriteError::Blocked) => {
                    self.writing = Some(writing);
                    // quinn says so of a connection that is over, too.
                    if let Some(connection_error) = self.carrier.reason() {
                        return Poll::Ready(Err(StreamErrorIncoming::ConnectionErrorIncoming {
                            connection_error,
                        }));
                    }
                    self.carrier.link.write(self.id, cx);
                    return Poll::Pending;
                }
                Err(WriteError::Stopped(code)) => return Poll::Ready(Err(terminated(code))),
                Err(e) => return Poll::Ready(Err(StreamErrorIncoming::Unknown(Box::new(e)))),
            }
        }
        Poll::Ready(Ok(()))
    }

    fn send_data<T: Into<WriteBuf<Bytes>>>(&mut self, data: T) -> Result<(), StreamErrorIncoming> {
        self.writing = Some(data.into());
        Ok(())
    }

    fn poll_finish(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), StreamErrorIncoming>> {
        if self.poll_ready(cx)?.is_pending() {
            return Poll::Pending;
        }
        Poll::Ready(
            match self.on(|connection, id| connection.send_stream(id).finish())? {
                Ok(()) => Ok(()),
                Err(FinishError::Stopped(code)) => Err(terminated(code)),
                Err(e) => Err(StreamErrorIncoming::Unknown(Box::new(e))),
            },
        )
    }

    fn reset(&mut self, reset_code: u64) {
        // A stream that is over needs no reset.
        let _ = self.on(|connection, id| connection.send_stream(id).reset(varint(reset_code)));
    }

    fn send_id(&self) -> HttpStreamId {
        self.number
    }
}

impl quic::RecvStream for Stream {
    type Buf = Bytes;

    fn poll_data(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Result<Option<Self::Buf>, StreamErrorIncoming>> {
        match self.on(read)? {
            Ok(found) => Poll::Ready(Ok(found)),
            Err(ReadError::Blocked) => {
                if let Some(connection_error) = self.carrier.reason() {
                    return Poll::Ready(Err(StreamErrorIncoming::ConnectionErrorIncoming {
                        connection_error,
                    }));
                }
                self.carrier.link.read(self.id, cx);
                Poll::Pending
            }
            Err(ReadError::Reset(code)) => Poll::Ready(Err(terminated(code))),
        }
    }

    fn stop_sending(&mut self, error_code: u64) {
        // A stream that is over needs no end.
        let _ = self.on(|connection, id| connection.recv_stream(id).stop(varint(error_code)));
    }

    fn recv_id(&self) -> HttpStreamId {
        self.number
    }
}

/// The next bytes of a stream in order; None at its end.
fn read(connection: &mut Connection, id: StreamId) -> Result<Option<Bytes>, ReadError> {
    let mut stream = connection.recv_stream(id);
    // A stream that has been read to its end is gone.
    let Ok(mut chunks) = stream.read(true) else {
        return Ok(None);
    };
    let found = chunks.next(usize::MAX);
    // The peer learns of new room when the connection speaks next.
    let _ = chunks.finalize();
    Ok(found?.map(|chunk| chunk.bytes))
}

fn terminated(code: VarInt) -> StreamErrorIncoming {
    StreamErrorIncoming::StreamTerminated {
        error_code: code.into_inner(),
    }
}

fn varint(number: u64) -> VarInt {
    VarInt::from_u64(number).unwrap_or(VarInt::MAX)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::net::{SocketAddr, UdpSocket as StdSocket};
    use std::thread;

    use anyhow::Result;
    use futures_executor::LocalPool;
    use hyper::http::Request;
    use quinn_proto::{ClientConfig, ServerConfig};

    use super::*;
    use crate::time::monotonic_ns;
    use crate::traffic::http::tasks::{Spawner, Timers};
    use crate::traffic::quic::account::Ending;
    use crate::traffic::quic::driver::Driver;
    use crate::traffic::quic::settings::{Settings, Side};
    use crate::traffic::quic::socket::UdpSocket;
    use crate::traffic::quic::tls;

    const FLOW: &str = r#"{"id":0,"name":"x","group":"x","tool":"x","from":"a","to":"b","source":"127.0.0.1",
            "destination":"127.0.0.1","source_port":1,"destination_port":2,"family":"ipv4","start_ns":0,"duration_ns":1,
            "seed":7,"changes":[],"sockets":[]}"#;

    fn driver(
        side: Side,
        server: Option<ServerConfig>,
        at: SocketAddr,
        to: Option<SocketAddr>,
        ending: &Ending,
    ) -> Result<Driver> {
        let settings = Settings {
            cc: "cubic",
            datagram_bytes: 1200,
            streams: 100,
            gso: false,
            waiting_bytes: None,
        };
        let socket = UdpSocket::open(&serde_json::from_str(FLOW)?, at, to, 1200)?;
        let (config, wakeup) = (settings.endpoint(7, side)?, Arc::clone(&ending.wakeup));
        Driver::new(config, server, socket, wakeup)
    }

    /// Closes each connection after a while.
    fn serve(driver: Driver, ending: &Ending) -> Result<()> {
        let endpoint = Rc::new(Endpoint::new(driver));
        let (mut pool, timers) = (LocalPool::new(), Timers::default());
        let spawner = Spawner(pool.spawner());
        endpoint.run(&mut pool, &timers, ending, |number, _| {
            let (endpoint, timers) = (Rc::clone(&endpoint), timers.clone());
            spawner.start(async move {
                timers.sleep_until(monotonic_ns() + 50_000_000).await;
                endpoint.close(number, VarInt::from_u32(0), b"");
            })
        })
    }

    /// Writes until that fails.
    async fn write(endpoint: Rc<Endpoint>, to: SocketAddr) -> Result<()> {
        let crypto = tls::quic_client(tls::client(b"h3")?, None)?;
        let (number, link) = (endpoint.connect(ClientConfig::new(Arc::new(crypto)), to)).await?;
        let carrier = Carrier::new(&endpoint, number, link);
        let (_connection, mut sender) = h3::client::builder().build(carrier).await?;
        let request = Request::post("https://netwarp/").body(())?;
        let mut stream = sender.send_request(request).await?;
        loop {
            stream.send_data(Bytes::from_static(&[0; 1 << 14])).await?;
        }
    }

    #[test]
    fn a_write_that_waits_learns_that_its_connection_is_over() -> Result<()> {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let to = StdSocket::bind(any)?.local_addr()?;
        let (ending, over) = (Ending::new()?, Arc::new(Ending::new()?));
        let config = ServerConfig::with_crypto(Arc::new(tls::quic_server(b"h3")?));
        let served = driver(Side::Server, Some(config), to, None, &over)?;
        let end = Arc::clone(&over);
        let server = thread::spawn(move || serve(served, &end));
        let opened = driver(Side::Client, None, any, Some(to), &ending)?;
        let (endpoint, timers) = (Rc::new(Endpoint::new(opened)), Timers::default());
        let mut pool = LocalPool::new();
        let (ending, failed) = (Rc::new(ending), Rc::new(Cell::new(None)));
        let (on, noted, client) = (Rc::clone(&ending), Rc::clone(&failed), Rc::clone(&endpoint));
        let spawner = Spawner(pool.spawner());
        spawner.start(async move {
            noted.set(Some(write(client, to).await.is_err()));
            on.end();
        })?;
        let (late, on) = (timers.clone(), Rc::clone(&ending));
        spawner.start(async move {
            late.sleep_until(monotonic_ns() + 10_000_000_000).await;
            on.end();
        })?;
        endpoint.run(&mut pool, &timers, &ending, |_, _| Ok(()))?;
        over.end();
        assert!(server.join().is_ok_and(|served| served.is_ok()));
        assert_eq!(failed.get(), Some(true));
        Ok(())
    }
}
