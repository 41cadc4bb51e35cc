//! What a client has seen of its pages, until it is written at the run's end.

use std::sync::{Arc, Mutex};

use anyhow::Result;

use super::pages::Planned;
use crate::time::monotonic_ns;
use crate::traffic::http_records::{HttpRecords, Object, Page};
use crate::traffic::threads::lock;

/// One object; times are from t0.
#[derive(Clone, Copy)]
pub struct ObjectLog {
    pub planned: Planned,
    connection: Option<u32>,
    known_ns: Option<i64>,
    pub sent_ns: Option<i64>,
    pub first_byte_ns: Option<i64>,
    pub end_ns: Option<i64>,
}

/// One page; times are from t0.
struct PageLog {
    start_ns: i64,
    connected_ns: Option<i64>,
    connections: u32,
    objects: Vec<ObjectLog>,
}

/// The pages of a flow.
#[derive(Clone)]
pub struct Log {
    pages: Arc<Mutex<Vec<PageLog>>>,
    t0_ns: i64,
}

impl Log {
    pub fn new(t0_ns: i64) -> Self {
        Self {
            pages: Arc::default(),
            t0_ns,
        }
    }

    pub fn now_ns(&self) -> i64 {
        monotonic_ns() - self.t0_ns
    }

    /// Notes that a page begins, and returns its number.
    pub fn begin(&self, objects: &[Planned]) -> usize {
        let mut pages = lock(&self.pages);
        pages.push(PageLog {
            start_ns: self.now_ns(),
            connected_ns: None,
            connections: 0,
            objects: objects.iter().copied().map(ObjectLog::new).collect(),
        });
        pages.len() - 1
    }

    /// Notes that a page has one more object, and returns its number.
    pub fn add(&self, page: usize, planned: Planned) -> usize {
        self.on_page(page, |one| {
            one.objects.push(ObjectLog::new(planned));
            one.objects.len() - 1
        })
    }

    /// The object of this number, if the page has it.
    pub fn object(&self, page: usize, object: usize) -> Option<ObjectLog> {
        let pages = lock(&self.pages);
        pages.get(page)?.objects.get(object).copied()
    }

    /// Notes that a page opens a connection, and returns its number.
    pub fn open(&self, page: usize) -> u32 {
        self.on_page(page, |one| {
            one.connections += 1;
            one.connections - 1
        })
    }

    /// Notes that a connection of a page may carry requests.
    pub fn connect(&self, page: usize) {
        let now_ns = self.now_ns();
        self.on_page(page, |one| {
            one.connected_ns.get_or_insert(now_ns);
        });
    }

    /// Notes that the client knows of an object, unless it already does.
    pub fn know(&self, page: usize, object: usize) {
        let now_ns = self.now_ns();
        self.on_object(page, object, |one| {
            one.known_ns.get_or_insert(now_ns);
        });
    }

    pub fn send(&self, page: usize, object: usize, connection: u32) {
        let now_ns = self.now_ns();
        self.on_object(page, object, |one| {
            (one.sent_ns, one.connection) = (Some(now_ns), Some(connection));
        });
    }

    pub fn begin_response(&self, page: usize, object: usize) {
        let now_ns = self.now_ns();
        self.on_object(page, object, |one| one.first_byte_ns = Some(now_ns));
    }

    pub fn end(&self, page: usize, object: usize) {
        let now_ns = self.now_ns();
        self.on_object(page, object, |one| one.end_ns = Some(now_ns));
    }

    fn on_page<T: Default>(&self, page: usize, work: impl FnOnce(&mut PageLog) -> T) -> T {
        lock(&self.pages)
            .get_mut(page)
            .map(work)
            .unwrap_or_default()
    }

    fn on_object(&self, page: usize, object: usize, work: impl FnOnce(&mut ObjectLog)) {
        self.on_page(page, |one| {
            if let Some(one) = one.objects.get_mut(object) {
                work(one);
            }
        });
    }

    /// When the first of all connections could carry requests.
    pub fn first_connection_ns(&self) -> Option<i64> {
        let pages = lock(&self.pages);
        pages.iter().filter_map(|page| page.connected_ns).min()
    }

    /// When the flow has ended, of which `most` pages are asked for: with the last of these, or else with its time or a
    /// page that takes longer.
    pub fn end_ns(&self, planned_ns: i64, most: Option<u32>) -> i64 {
        let pages = lock(&self.pages);
        let ends: Option<Vec<i64>> = pages.iter().map(PageLog::end_ns).collect();
        let Some(last_ns) = ends.map(|ends| ends.into_iter().max()) else {
            return planned_ns.max(self.now_ns());
        };
        match last_ns {
            Some(last_ns) if most == Some(pages.len() as u32) => last_ns,
            Some(last_ns) => planned_ns.max(last_ns),
            None => planned_ns,
        }
    }

    /// Writes all rows.
    pub fn write(&self, flow_id: u32, records: &mut HttpRecords) -> Result<()> {
        for (number, page) in lock(&self.pages).iter().enumerate() {
            records.pages.add(page.row(flow_id, number as u32))?;
            for (object, one) in page.objects.iter().enumerate() {
                records
                    .objects
                    .add(one.row(flow_id, number as u32, object as u32))?;
            }
        }
        Ok(())
    }
}

impl PageLog {
    /// When its last object was complete.
    fn end_ns(&self) -> Option<i64> {
        let ends: Option<Vec<i64>> = self.objects.iter().map(|one| one.end_ns).collect();
        ends?.into_iter().max()
    }

    fn row(&self, flow_id: u32, page: u32) -> Page {
        Page {
            flow_id,
            page,
            start_ns: self.start_ns,
            connected_ns: self.connected_ns,
            first_byte_ns: self.objects.first().and_then(|one| one.first_byte_ns),
            end_ns: self.end_ns(),
            objects: self.objects.len() as u32,
            bytes: self.objects.iter().map(|one| one.planned.bytes).sum(),
            connections: self.connections,
        }
    }
}

impl ObjectLog {
    fn new(planned: Planned) -> Self {
        Self {
            planned,
            connection: None,
            known_ns: None,
            sent_ns: None,
            first_byte_ns: None,
            end_ns: None,
        }
    }

    fn row(&self, flow_id: u32, page: u32, object: u32) -> Object {
        Object {
            flow_id,
            page,
            object,
            parent: self.planned.parent.map(|number| number as u32),
            urgency: self.planned.urgency,
            connection: self.connection,
            known_ns: self.known_ns,
            sent_ns: self.sent_ns,
            first_byte_ns: self.first_byte_ns,
            end_ns: self.end_ns,
            bytes: self.planned.bytes,
        }
    }
}
