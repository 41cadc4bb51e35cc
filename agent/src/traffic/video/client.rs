//! The viewer: requests one segment after the other, and plays them.

use std::sync::{Arc, Mutex};

use anyhow::{Context, Result};

use super::log::{BITS_NS, Decision, Watched, throughput_bps};
use super::player::{Player, Situation};
use crate::lab::Flow;
use crate::traffic::draws::Draws;
use crate::traffic::fields::VideoFields;
use crate::traffic::http::ends;
use crate::traffic::http::log::ObjectLog;
use crate::traffic::http::pages::Planned;
use crate::traffic::http::session::{Place, Session, has_timed_out};
use crate::traffic::open_loop::arrivals::{SIZES, Sizes};
use crate::traffic::threads::lock;

/// The player of a video with its connection.
pub struct Client {
    pub end: ends::Client,
    pub fields: VideoFields,
    pub flow: Flow,
    pub t0_ns: i64,
    pub player: Player,
    pub watched: Arc<Mutex<Watched>>,
}

impl Client {
    /// Plays the video. A connection that the network lets fail is a result: nothing more arrives. Other errors are the
    /// flow's.
    pub async fn run(mut self) {
        match self.play().await {
            Err(e) if !has_timed_out(&e) => lock(&self.end.account).fail(&e),
            _ => {}
        }
    }

    async fn play(&mut self) -> Result<()> {
        self.end
            .timers
            .sleep_until(self.t0_ns + self.flow.start_ns)
            .await;
        let page = self.end.connector.log.begin(&[]);
        let session = self.end.connector.session(page).await?;
        let mut sizes = Draws::with_stream(self.flow.seed, SIZES);
        let mut previous = None;
        for number in 0..self.fields.segments.unwrap_or(u32::MAX) {
            self.wait_for_room().await;
            if self.end.ending.is_stopped() {
                return Ok(());
            }
            let level = self.decide(number, previous);
            let bytes = self.size_of(level, &mut sizes);
            let object = self.end.connector.log.add(page, Planned::alone(bytes));
            let at = Place { page, object };
            let seen = self.fetch(&session, bytes, at).await?;
            if !self.take(number, &seen, bytes)? {
                return Ok(());
            }
            previous = Some(level);
        }
        lock(&self.watched).playback.finish(self.until_ns());
        Ok(())
    }

    /// When the flow ends, from t0.
    fn until_ns(&self) -> i64 {
        self.flow.start_ns + self.flow.duration_ns
    }

    /// Waits until the buffer has room for a segment.
    async fn wait_for_room(&self) {
        let at_ns = {
            let mut watched = lock(&self.watched);
            watched.playback.advance(self.end.connector.log.now_ns());
            watched.playback.room_ns(self.fields.buffer_ns)
        };
        self.end.timers.sleep_until(self.t0_ns + at_ns).await;
    }

    /// Lets the player decide the bitrate of a segment, and returns its number in the ladder.
    fn decide(&mut self, number: u32, previous: Option<usize>) -> usize {
        let mut watched = lock(&self.watched);
        let buffer_ns = watched.playback.advance(self.end.connector.log.now_ns());
        let choice = self.player.choose(&Situation {
            buffer_ns,
            previous,
            left: self.fields.segments.map(|all| all - number),
        });
        watched.decisions.push(Decision {
            choice,
            buffer_ns,
            buffer_end_ns: None,
        });
        choice.level
    }

    /// The bytes of the next segment: those of its bitrate, times a factor of the mean 1 that does not depend on the
    /// bitrate.
    fn size_of(&self, level: usize, sizes: &mut Draws) -> u64 {
        let bps = self.fields.bitrates_bps.get(level).copied().unwrap_or(0) as f64;
        let mean = bps * self.fields.segment_ns as f64 / BITS_NS;
        Sizes::log_normal(mean, self.fields.size_sigma).draw(sizes)
    }

    async fn fetch(&self, session: &Session, bytes: u64, at: Place) -> Result<ObjectLog> {
        let connector = &self.end.connector;
        (connector.fetch(session, Planned::alone(bytes), at).await)
            .with_context(|| format!("segment {}", at.object))?;
        *lock(&self.end.account).received_bytes.get_or_insert(0) += bytes;
        connector
            .log
            .object(at.page, at.object)
            .context("a segment that is not recorded")
    }

    /// Puts a segment into the buffer; false if the viewer has left meanwhile.
    fn take(&mut self, number: u32, seen: &ObjectLog, bytes: u64) -> Result<bool> {
        let (Some(sent_ns), Some(end_ns)) = (seen.sent_ns, seen.end_ns) else {
            anyhow::bail!("segment {number} was neither requested nor received");
        };
        if end_ns > self.until_ns() {
            return Ok(false);
        }
        self.player.learn(throughput_bps(bytes, sent_ns, end_ns));
        let is_last = self.fields.segments == Some(number + 1);
        let mut watched = lock(&self.watched);
        let level_ns = watched.playback.add(end_ns, is_last);
        if let Some(decision) = watched.decisions.last_mut() {
            decision.buffer_end_ns = Some(level_ns);
        }
        Ok(true)
    }
}
