//! `video`: adaptive streaming over HTTP. The viewer requests one segment after the other over one connection, at the
//! bitrate that its player decides, and plays them; connection and server are those of `http`.

mod client;
mod log;
mod playback;
mod player;

use std::sync::{Arc, Mutex};

use anyhow::Result;

use self::client::Client;
use self::log::Watched;
use self::playback::Playback;
use self::player::Player;
use super::fields::VideoFields;
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup};
use super::http::ends::{Ends, Web, version_of};
use super::threads::lock;
use super::video_records::VideoRecords;

/// A video that is watched.
struct Video {
    flow_id: u32,
    bitrates_bps: Vec<u64>,
    /// None: the client is on another machine.
    watched: Option<Arc<Mutex<Watched>>>,
    ends: Ends,
    records: Arc<Mutex<VideoRecords>>,
}

/// Opens the sockets and starts both threads.
pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let fields: VideoFields = setup.flow.fields()?;
    let web = Web {
        version: version_of(&fields.version)?,
        tls: fields.tls,
        cc: &fields.cc,
        datagram_bytes: fields.datagram_size_bytes,
        connections: 1,
        resumes: false,
    };
    let playback = Playback::new(setup.flow.start_ns, fields.segment_ns, fields.startup_ns);
    let watched = Arc::new(Mutex::new(Watched {
        playback,
        decisions: Vec::new(),
    }));
    let (flow, t0_ns, player) = (setup.flow.clone(), setup.t0_ns, Player::new(&fields)?);
    let (of_client, shared) = (fields.clone(), Arc::clone(&watched));
    let ends = Ends::start(setup, &web, move |end| {
        let client = Client {
            end,
            fields: of_client,
            flow,
            t0_ns,
            player,
            watched: shared,
        };
        client.run()
    })?;
    Ok(Box::new(Video {
        flow_id: setup.flow.id,
        bitrates_bps: fields.bitrates_bps,
        watched: setup.source().map(|_| watched),
        ends,
        records: Arc::clone(&setup.tables.video),
    }))
}

impl Generator for Video {
    /// The viewer leaves: no further segment is requested.
    fn stop(&mut self) {
        self.ends.stop();
    }

    fn collect(&mut self, stats: &mut FlowStats) -> Result<()> {
        self.ends.collect(stats);
        let Some(watched) = &self.watched else {
            return Ok(());
        };
        let mut watched = lock(watched);
        match watched.playback.end_ns() {
            Some(end_ns) => stats.end_ns = end_ns,
            None => {
                watched.playback.advance(stats.end_ns);
            }
        }
        let log = &self.ends.log;
        watched.write(
            self.flow_id,
            &self.bitrates_bps,
            log,
            &mut lock(&self.records),
        )
    }
}
