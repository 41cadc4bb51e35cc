//! An endpoint of QUIC with its connections, and the tasks that wait for something on one of them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, bail};
use bytes::Bytes;
use futures_executor::LocalPool;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, Event, StreamEvent, StreamId, VarInt,
};

use super::tasks::Timers;
use crate::time::monotonic_ns;
use crate::traffic::quic::account::Ending;
use crate::traffic::quic::driver::Driver;

/// What tasks wait for on one connection.
#[derive(Default)]
pub struct Link {
    connected: Cell<bool>,
    lost: RefCell<Option<ConnectionError>>,
    readers: RefCell<BTreeMap<StreamId, Waker>>,
    writers: RefCell<BTreeMap<StreamId, Waker>>,
    /// Tasks that wait for the handshake, for streams of the peer, or for leave to open one.
    others: RefCell<Vec<Waker>>,
}

impl Link {
    pub fn read(&self, id: StreamId, cx: &TaskContext<'_>) {
        self.readers.borrow_mut().insert(id, cx.waker().clone());
    }

    pub fn write(&self, id: StreamId, cx: &TaskContext<'_>) {
        self.writers.borrow_mut().insert(id, cx.waker().clone());
    }

    pub fn change(&self, cx: &TaskContext<'_>) {
        self.others.borrow_mut().push(cx.waker().clone());
    }

    /// Why the connection is lost, if it is.
    pub fn lost(&self) -> Option<ConnectionError> {
        self.lost.borrow().clone()
    }

    fn note(&self, event: Event) {
        match event {
            Event::Stream(StreamEvent::Readable { id }) => wake(&self.readers, id),
            Event::Stream(StreamEvent::Writable { id } | StreamEvent::Stopped { id, .. }) => {
                wake(&self.writers, id);
            }
            Event::Stream(StreamEvent::Opened { .. } | StreamEvent::Available { .. }) => {
                self.wake_others();
            }
            Event::Connected => {
                self.connected.set(true);
                self.wake_others();
            }
            Event::ConnectionLost { reason } => {
                *self.lost.borrow_mut() = Some(reason);
                self.wake_all();
            }
            _ => {}
        }
    }

    fn wake_others(&self) {
        self.others.borrow_mut().drain(..).for_each(Waker::wake);
    }

    fn wake_all(&self) {
        self.wake_others();
        for wakers in [&self.readers, &self.writers] {
            std::mem::take(&mut *wakers.borrow_mut())
                .into_values()
                .for_each(Waker::wake);
        }
    }
}

fn wake(wakers: &RefCell<BTreeMap<StreamId, Waker>>, id: StreamId) {
    if let Some(waker) = wakers.borrow_mut().remove(&id) {
        waker.wake();
    }
}

/// The endpoint.
pub struct Endpoint {
    driver: RefCell<Driver>,
    links: RefCell<BTreeMap<usize, Rc<Link>>>,
    /// Tasks that wait for what quinn has no event for.
    turns: RefCell<Vec<Waker>>,
    /// Whether any connection has been made.
    met: Cell<bool>,
}

impl Endpoint {
    pub fn new(driver: Driver) -> Self {
        Self {
            driver: RefCell::new(driver),
            links: RefCell::default(),
            turns: RefCell::default(),
            met: Cell::new(false),
        }
    }

    /// Waits for the next turn of the loop.
    pub fn turn(&self, cx: &TaskContext<'_>) {
        self.turns.borrow_mut().push(cx.waker().clone());
    }

    /// Calls a function with a connection by its number, until that is over.
    pub fn with<T>(&self, number: usize, work: impl FnOnce(&mut Connection) -> T) -> Option<T> {
        self.driver.borrow_mut().connection(number).map(work)
    }

    /// Begins a connection, and waits until it may carry requests: at once if it resumes an earlier one, or after the
    /// handshake.
    pub async fn connect(&self, config: ClientConfig, to: SocketAddr) -> Result<(usize, Rc<Link>)> {
        let number = self.driver.borrow_mut().connect(config, to)?;
        let link = Rc::<Link>::default();
        self.links.borrow_mut().insert(number, Rc::clone(&link));
        let resumes = self.with(number, |connection| connection.has_0rtt());
        if resumes != Some(true) {
            self.handshake(&link, to).await?;
        }
        Ok((number, link))
    }

    async fn handshake(&self, link: &Link, to: SocketAddr) -> Result<()> {
        poll_fn(|cx| {
            if let Some(reason) = link.lost() {
                return Poll::Ready(Err(anyhow!("cannot connect to {to}: {reason}")));
            }
            if link.connected.get() {
                return Poll::Ready(Ok(()));
            }
            link.change(cx);
            Poll::Pending
        })
        .await
    }

    /// Closes a connection.
    pub fn close(&self, number: usize, code: VarInt, reason: &[u8]) {
        let reason = Bytes::copy_from_slice(reason);
        self.with(number, |one| one.close(Instant::now(), code, reason));
    }

    /// Runs the tasks, and drives the connections, until the run's end. `accept` is given each connection that a peer
    /// begins.
    pub fn run(
        &self,
        pool: &mut LocalPool,
        timers: &Timers,
        ending: &Ending,
        mut accept: impl FnMut(usize, Rc<Link>) -> Result<()>,
    ) -> Result<()> {
        while !ending.is_over() {
            let now = Instant::now();
            self.hear(now, &mut accept)?;
            timers.wake_due();
            pool.run_until_stalled();
            let mut driver = self.driver.borrow_mut();
            // A connection that is over is forgotten when the driver speaks.
            driver.record()?;
            driver.speak(now);
            // The number of a connection that is over may be that of the next one.
            let mut links = self.links.borrow_mut();
            links.retain(|number, _| driver.connection(*number).is_some());
            drop(links);
            let until = timers.next_ns().map(|at_ns| {
                now + Duration::from_nanos((at_ns - monotonic_ns()).max(0).unsigned_abs())
            });
            driver.wait(until)?;
        }
        Ok(())
    }

    fn hear(
        &self,
        now: Instant,
        accept: &mut impl FnMut(usize, Rc<Link>) -> Result<()>,
    ) -> Result<()> {
        let mut driver = self.driver.borrow_mut();
        driver.hear(now)?;
        let mut links = self.links.borrow_mut();
        for (number, connection) in driver.connections() {
            let link = match links.get(&number) {
                Some(link) => Rc::clone(link),
                None => {
                    let link = Rc::<Link>::default();
                    links.insert(number, Rc::clone(&link));
                    accept(number, Rc::clone(&link))?;
                    link
                }
            };
            while let Some(event) = connection.poll() {
                link.note(event);
            }
            self.met.set(self.met.get() || link.connected.get());
        }
        self.turns.borrow_mut().drain(..).for_each(Waker::wake);
        if let Some(answer) = driver.refusal.take()
            && !self.met.get()
        {
            // Once there was a connection, only the peer can end one, as anyone may forge what ICMP says.
            bail!("cannot connect: {answer} (ICMP)");
        }
        Ok(())
    }
}
