//! The client: loads pages, one after the other or as they arrive.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;

use super::ends;
use super::pages::{Pages, Planned};
use super::session::{Place, Session, Way, has_timed_out};
use crate::lab::Flow;
use crate::traffic::draws::Draws;
use crate::traffic::fields::HttpFields;
use crate::traffic::open_loop::arrivals::{When, times};
use crate::traffic::threads::lock;

/// The stream of the flow's seed that its pauses are drawn from.
const PAUSES: u64 = 2;
/// Connections that fetch the first session tickets, two each: a connection brings its own after two round trips, and short
/// pages take two until then.
const FIRST: usize = 2;

/// What loads pages.
pub struct Client {
    pub end: ends::Client,
    pub fields: HttpFields,
    pub flow: Flow,
    pub t0_ns: i64,
    pub pages: RefCell<Pages>,
}

impl Client {
    /// Loads all pages.
    pub async fn run(self: Rc<Self>) {
        if let Err(e) = self.load_all().await {
            lock(&self.end.account).fail(&e);
        }
    }

    async fn load_all(self: &Rc<Self>) -> Result<()> {
        let start_ns = self.t0_ns + self.flow.start_ns;
        if let Some(ahead_ns) = self.fields.resume_ahead_ns {
            self.end.timers.sleep_until(start_ns - ahead_ns).await;
            self.fetch_tickets(start_ns).await?;
        }
        self.end.timers.sleep_until(start_ns).await;
        let most = self.fields.pages.map_or(usize::MAX, |pages| pages as usize);
        match self.fields.closed {
            true => self.load_in_turn(most).await,
            false => self.load_as_they_arrive(most, start_ns).await,
        }
    }

    async fn load_in_turn(&self, most: usize) -> Result<()> {
        let mut draws = Draws::with_stream(self.flow.seed, PAUSES);
        let (mean, shape) = (self.fields.think_ns as f64, self.fields.think_distribution);
        for _ in 0..most {
            if self.end.ending.is_stopped() {
                break;
            }
            if !self.load().await {
                break; // the next page would fail as well, and without a pause at the same instant
            }
            let pause_ns = draws.value(mean, shape) as i64;
            let log = &self.end.connector.log;
            self.end
                .timers
                .sleep_until(self.t0_ns + log.now_ns() + pause_ns)
                .await;
        }
        Ok(())
    }

    async fn load_as_they_arrive(self: &Rc<Self>, most: usize, start_ns: i64) -> Result<()> {
        let when = When {
            poisson: self.fields.poisson,
            interval_ns: self.fields.interval_ns,
            times_ns: self.fields.times_ns.clone(),
        };
        for after_ns in times(self.flow.seed, self.flow.duration_ns, &when).take(most) {
            self.end.timers.sleep_until(start_ns + after_ns).await;
            if self.end.ending.is_stopped() {
                break;
            }
            let client = Rc::clone(self);
            self.end.connector.spawner.start(async move {
                client.load().await;
            })?;
        }
        Ok(())
    }

    /// Loads the next page. One that the network lets fail is a result; other errors are the flow's. False after such an
    /// error.
    async fn load(&self) -> bool {
        let plan = self.pages.borrow_mut().draw();
        let page = self.end.connector.log.begin(&plan);
        match self.load_page(page, &plan).await {
            Err(e) if !has_timed_out(&e) => {
                lock(&self.end.account).fail(&e.context(format!("page {page}")));
                false
            }
            _ => true,
        }
    }

    async fn load_page(&self, page: usize, plan: &[Planned]) -> Result<()> {
        self.end.connector.log.know(page, 0);
        let session = self.end.connector.session(page).await?;
        let mut under_way = FuturesUnordered::new();
        under_way.push(self.fetch(&session, plan, Place { page, object: 0 }));
        while let Some(fetched) = under_way.next().await {
            let known = fetched?;
            for (object, planned) in plan.iter().enumerate() {
                if planned.parent == Some(known) {
                    under_way.push(self.fetch(&session, plan, Place { page, object }));
                }
            }
        }
        Ok(())
    }

    /// Fetches an object, and returns its number.
    async fn fetch(&self, session: &Session, plan: &[Planned], at: Place) -> Result<usize> {
        let log = &self.end.connector.log;
        log.know(at.page, at.object);
        let planned = *plan
            .get(at.object)
            .context("an object that its page lacks")?;
        self.end.connector.fetch(session, planned, at).await?;
        *lock(&self.end.account).received_bytes.get_or_insert(0) += planned.bytes;
        Ok(at.object)
    }

    /// Fetches the first session tickets, until the flow's start. If there is none by then, the first page cannot begin:
    /// it is not complete when the run ends, or the flow has failed once a ticket is there.
    async fn fetch_tickets(&self, start_ns: i64) -> Result<()> {
        let Way::Quic(quic) = &self.end.connector.way else {
            bail!("only QUIC resumes connections");
        };
        for _ in 0..FIRST {
            let (quic, to) = (Rc::clone(quic), self.end.connector.to);
            self.end.connector.spawner.start(async move {
                // The flow's start shows whether there is a ticket.
                let _ = quic.fetch_tickets(to).await;
            })?;
        }
        let (ticket, start) = (
            pin!(quic.ticket()),
            pin!(self.end.timers.sleep_until(start_ns)),
        );
        let Either::Right(((), late)) = select(ticket, start).await else {
            return Ok(());
        };
        let plan = self.pages.borrow_mut().draw();
        let page = self.end.connector.log.begin(&plan);
        self.end.connector.log.know(page, 0);
        late.await;
        bail!(
            "the first connection had no session ticket when the flow began, so that nothing could leave in 0-RTT; make \
             `resume_ahead` longer: a ticket takes two round trips"
        )
    }
}
