//! Shapers with a `pfifo` below, or a device's `pfifo`, over netlink: the usual end of a link. tc sets up every other
//! end. A process of tc for each node takes longer than everything else that builds it. The messages are those of tc
//! (iproute2, `q_htb.c` and `q_fifo.c`) for the lines that the lab has.

use anyhow::{Context, Result};

use super::shaper;
use super::site::Site;
use crate::lab::{End, Lab, Queue};
use crate::traffic_control::{RTM_NEWQDISC, TC_H_ROOT, TCA_KIND, TCA_OPTIONS, tcmsg};
use netwarp_records::netlink::{NLM_F_CREATE, NLM_F_EXCL, Request};

/// Sets up the ends of a node that are `usual`.
pub fn apply(lab: &Lab, node: &mut Site) -> Result<()> {
    let Site { route, ends, .. } = node;
    for (own, _) in ends.iter() {
        for message in requests(lab, own).into_iter().flatten() {
            route
                .change(message)
                .with_context(|| format!("queue of {}", own.interface))?;
        }
    }
    Ok(())
}

/// Whether this end is set up here, and not by tc.
pub fn is_usual(lab: &Lab, end: &End) -> bool {
    requests(lab, end).is_some()
}

fn requests(lab: &Lab, end: &End) -> Option<Vec<Request>> {
    let queue = end.queue.as_ref()?;
    let limit_pkts = limit_of(queue)?;
    if end.raw.is_some() || end.opportunities.is_some() {
        return None;
    }
    match &end.shaper {
        Some(shaper) => {
            let mut messages = Vec::from(shaper::add(end.index, shaper));
            messages.push(pfifo(end.index, queue.handle, shaper::CLASS, limit_pkts));
            Some(messages)
        }
        None if lab.is_device(end.index) => {
            Some(vec![pfifo(end.index, queue.handle, TC_H_ROOT, limit_pkts)])
        }
        None => None,
    }
}

/// The limit of a `pfifo` that has no other option.
fn limit_of(queue: &Queue) -> Option<u32> {
    let words: Vec<&str> = queue.options.iter().map(String::as_str).collect();
    match (queue.kind.as_str(), words.as_slice()) {
        ("pfifo", ["limit", limit]) => {
            // tc reads a number with a leading zero in another base.
            limit.parse().ok().filter(|n: &u32| n.to_string() == *limit)
        }
        _ => None,
    }
}

/// The options of a `pfifo` are struct tc_fifo_qopt: its limit.
fn pfifo(index: u32, handle: u16, parent: u32, limit_pkts: u32) -> Request {
    Request::new(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&tcmsg(index, u32::from(handle) << 16, parent, 0))
        .text(TCA_KIND, "pfifo")
        .attr(TCA_OPTIONS, &limit_pkts.to_ne_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_limit_is_ours() {
        let queue = |kind: &str, options: &[&str]| Queue {
            handle: 0x10,
            kind: kind.into(),
            options: options.iter().map(|word| (*word).to_string()).collect(),
        };
        assert_eq!(limit_of(&queue("pfifo", &["limit", "100"])), Some(100));
        for (kind, options) in [
            ("pfifo", vec![]),
            ("pfifo", vec!["limit", "0x10"]),
            ("pfifo", vec!["limit", "010"]),
            ("pfifo", vec!["limit", "+5"]),
            ("pfifo", vec!["limit", "4294967296"]),
            ("pfifo", vec!["limit", ""]),
            ("bfifo", vec!["limit", "100"]),
        ] {
            assert_eq!(limit_of(&queue(kind, &options)), None, "{kind} {options:?}");
        }
    }
}
