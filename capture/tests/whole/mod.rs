//! Reads a whole file that is in memory, as the observer does from a disk.

use netwarp_capture::file::{MAGIC_BYTES, Reader, Step};
use netwarp_capture::{Analysis, Observation, Series};

/// The result of reading.
#[derive(Debug, Default)]
pub struct Read {
    pub analysis: Analysis,
    pub seen: Vec<Observation>,
    /// Whether the end of the last frame was reached
    pub whole: bool,
}

/// Reads as much as possible. This ends for any bytes, and the counts add up.
pub fn read(bytes: &[u8]) -> Read {
    let mut done = Read::default();
    let head = bytes.get(..MAGIC_BYTES).unwrap_or(bytes);
    let Ok((mut reader, used)) = Reader::open(head) else {
        return done;
    };
    let mut series = Series::new(1_000_000);
    let mut rest = bytes.get(used..).unwrap_or(&[]);
    loop {
        match reader.step(rest) {
            Ok(Step::Frame(frame, used)) => {
                assert!(used > 0 && frame.bytes.len() < used);
                if let Some(seen) = done.analysis.frame(&frame) {
                    let close = |_, _: &_| Ok::<(), ()>(());
                    assert!(
                        series
                            .push(frame.time_ns, frame.wire_bytes, &seen, close)
                            .is_ok()
                    );
                    done.seen.push(seen);
                }
                rest = rest.get(used..).unwrap_or(&[]);
            }
            Ok(Step::Skip(bytes)) => {
                assert!(bytes > 0);
                match rest.get(usize::try_from(bytes).unwrap_or(usize::MAX)..) {
                    Some(after) => rest = after,
                    None => break,
                }
            }
            Ok(Step::More(wanted)) => {
                assert!(wanted > rest.len());
                done.whole = rest.is_empty();
                break;
            }
            Err(_) => break,
        }
    }
    check(&done);
    done
}

/// Checks that every frame is in a flow or has its reason, and that no statistic is out of bounds.
fn check(done: &Read) {
    let stats = done.analysis.stats();
    let out = stats.unknown_link
        + stats.not_ip
        + stats.other_protocol
        + stats.unreadable
        + stats.fragments;
    assert_eq!(stats.frames, stats.tcp + stats.udp + out);
    let directions = || {
        done.analysis
            .flows()
            .iter()
            .flat_map(|flow| &flow.directions)
    };
    let packets: u64 = directions()
        .map(|direction| direction.packets.count())
        .sum();
    assert_eq!(packets, stats.tcp + stats.udp);
    for direction in directions() {
        let rtt = &direction.ack_rtt;
        if let (Some(least), Some(median), Some(most)) =
            (rtt.least(), rtt.quantile(0.5), rtt.most())
        {
            assert!(least as f64 <= median && median <= most as f64);
        }
    }
}
