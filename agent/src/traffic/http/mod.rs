//! `http`: pages that are loaded over HTTP/1.1 or HTTP/2 (hyper) or HTTP/3 (h3 on quinn-proto). One thread at each end
//! runs the library's tasks and watches the sockets; there is no other runtime.

mod body;
mod client;
mod endpoint;
pub mod ends;
pub mod log;
pub mod pages;
mod reactor;
mod resumption;
mod server;
pub mod session;
mod stream;
pub mod tasks;
mod transport;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use anyhow::Result;

use self::client::Client;
use self::ends::{Ends, Web, version_of};
use self::pages::Pages;
use super::fields::HttpFields;
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup};
use super::http_records::HttpRecords;
use super::threads::lock;

/// A flow that loads pages.
struct Http {
    flow_id: u32,
    /// The most pages that are asked for.
    pages: Option<u32>,
    ends: Ends,
    records: Arc<Mutex<HttpRecords>>,
}

/// Opens the sockets and starts both threads.
pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let fields: HttpFields = setup.flow.fields()?;
    let web = Web {
        version: version_of(&fields.version)?,
        tls: fields.tls,
        cc: &fields.cc,
        datagram_bytes: fields.datagram_size_bytes,
        connections: fields.most_connections,
        resumes: fields.resume_ahead_ns.is_some(),
    };
    let (flow, t0_ns) = (setup.flow.clone(), setup.t0_ns);
    let (of_client, pages) = (fields.clone(), Pages::new(&fields, flow.seed)?);
    let ends = Ends::start(setup, &web, move |end| {
        Rc::new(Client {
            end,
            fields: of_client,
            flow,
            t0_ns,
            pages: RefCell::new(pages),
        })
        .run()
    })?;
    Ok(Box::new(Http {
        flow_id: setup.flow.id,
        pages: fields.pages,
        ends,
        records: Arc::clone(&setup.tables.http),
    }))
}

impl Generator for Http {
    /// Pages that have begun go on until they are complete or the run ends.
    fn stop(&mut self) {
        self.ends.stop();
    }

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        self.ends.collect(stats);
        stats.end_ns = self.ends.log.end_ns(stats.end_ns, self.pages);
        self.ends.log.write(self.flow_id, &mut lock(&self.records))
    }
}
