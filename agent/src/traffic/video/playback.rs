//! The playback of a video: how much of it is in the buffer, and when it waits.
//!
//! The buffer is counted in time of playback. It grows by a whole segment when the segment's last byte is there, and
//! shrinks as time passes while the video plays.

use netwarp_records::tables::playback_state::{PLAYING, STALLED, STARTING};

/// A stretch of time in which the playback was in one state; times are from t0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    pub state: u8,
    pub start_ns: i64,
    /// None: the state lasted until the flow's end.
    pub end_ns: Option<i64>,
}

/// The playback.
#[derive(Debug)]
pub struct Playback {
    segment_ns: i64,
    /// Playback begins, and goes on after a stall, when so much is in the buffer.
    threshold_ns: i64,
    level_ns: i64,
    /// When the level was that.
    at_ns: i64,
    now: Period,
    past: Vec<Period>,
}

impl Playback {
    pub fn new(start_ns: i64, segment_ns: i64, threshold_ns: i64) -> Self {
        Self {
            segment_ns,
            threshold_ns,
            level_ns: 0,
            at_ns: start_ns,
            now: Period {
                state: STARTING,
                start_ns,
                end_ns: None,
            },
            past: Vec::new(),
        }
    }

    fn plays(&self) -> bool {
        self.now.state == PLAYING
    }

    /// Lets time pass, and returns what is in the buffer then. A buffer that is empty at this very instant has not
    /// stalled the playback yet: a segment may come just in time.
    pub fn advance(&mut self, now_ns: i64) -> i64 {
        if self.plays() {
            let empty_ns = self.at_ns + self.level_ns;
            self.level_ns = (empty_ns - now_ns).max(0);
            if empty_ns < now_ns {
                self.enter(STALLED, empty_ns);
            }
        }
        self.at_ns = now_ns;
        self.level_ns
    }

    /// Adds a segment, and returns what is in the buffer then. The last one is played in any case.
    pub fn add(&mut self, now_ns: i64, is_last: bool) -> i64 {
        self.advance(now_ns);
        self.level_ns += self.segment_ns;
        if !self.plays() && (is_last || self.level_ns >= self.threshold_ns) {
            self.enter(PLAYING, now_ns);
        }
        self.level_ns
    }

    /// When there will be room for another segment in a buffer for so much: the last instant that `advance` was told, or
    /// later.
    pub fn room_ns(&self, most_ns: i64) -> i64 {
        self.at_ns + (self.level_ns + self.segment_ns - most_ns).max(0)
    }

    /// Says when the playback of a video that is complete ends, unless that is after `until_ns`.
    pub fn finish(&mut self, until_ns: i64) {
        let end_ns = self.at_ns + self.level_ns;
        self.now.end_ns = (self.plays() && end_ns <= until_ns).then_some(end_ns);
    }

    /// When the video has ended; None: it has not.
    pub fn end_ns(&self) -> Option<i64> {
        self.now.end_ns
    }

    /// All states, in order of time.
    pub fn periods(&self) -> impl Iterator<Item = &Period> {
        self.past.iter().chain([&self.now])
    }

    fn enter(&mut self, state: u8, at_ns: i64) {
        self.past.push(Period {
            end_ns: Some(at_ns),
            ..self.now
        });
        self.now = Period {
            state,
            start_ns: at_ns,
            end_ns: None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn periods(playback: &Playback) -> Vec<(u8, i64, Option<i64>)> {
        (playback.periods())
            .map(|one| (one.state, one.start_ns, one.end_ns))
            .collect()
    }

    #[test]
    fn playback_waits_for_its_threshold_at_the_start_and_after_a_stall() {
        let mut playback = Playback::new(S, 4 * S, 8 * S);
        assert_eq!(playback.add(2 * S, false), 4 * S);
        assert_eq!(playback.advance(3 * S), 4 * S, "nothing plays yet");
        assert_eq!(playback.add(5 * S, false), 8 * S);
        // Empty at 13 s; the next segments come at 14 and 16 s.
        assert_eq!(playback.add(14 * S, false), 4 * S);
        assert_eq!(playback.add(16 * S, false), 8 * S);
        assert_eq!(playback.advance(17 * S), 7 * S);
        let expected = [
            (STARTING, S, Some(5 * S)),
            (PLAYING, 5 * S, Some(13 * S)),
            (STALLED, 13 * S, Some(16 * S)),
            (PLAYING, 16 * S, None),
        ];
        assert_eq!(periods(&playback), expected);
    }

    #[test]
    fn a_segment_that_comes_when_the_buffer_is_just_empty_is_in_time() {
        let mut playback = Playback::new(0, 4 * S, 4 * S);
        playback.add(S, false);
        assert_eq!(playback.advance(5 * S), 0);
        assert_eq!(playback.add(5 * S, false), 4 * S);
        assert_eq!(
            periods(&playback),
            [(STARTING, 0, Some(S)), (PLAYING, S, None)]
        );
        assert_eq!(playback.advance(9 * S + 1), 0);
        assert_eq!(
            periods(&playback).last(),
            Some(&(STALLED, 9 * S, None)),
            "a nanosecond later it is not"
        );
    }

    #[test]
    fn a_segment_is_requested_once_it_has_room() {
        let mut playback = Playback::new(0, 4 * S, 4 * S);
        playback.add(S, false);
        assert_eq!(playback.room_ns(10 * S), S);
        playback.add(2 * S, false);
        assert_eq!(playback.room_ns(10 * S), 3 * S, "7 s are in the buffer");
    }

    #[test]
    fn the_last_segment_is_played_whatever_the_threshold() {
        let mut playback = Playback::new(0, 4 * S, 8 * S);
        playback.add(S, true);
        playback.finish(4 * S);
        assert_eq!(playback.end_ns(), None, "the viewer leaves before");
        playback.finish(6 * S);
        assert_eq!(playback.end_ns(), Some(5 * S));
        assert_eq!(periods(&playback).last(), Some(&(PLAYING, S, Some(5 * S))));
    }
}
