//! `queue_states.arrows`: the inner state of qdiscs at some ends of links, and of their classes, as the kernel reports
//! it (RTM_GETQDISC, RTM_GETTCLASS).

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use netlink_sys::protocols::NETLINK_ROUTE;

use super::queue_variables::{Number, Part, REPORTED, Reported};
use crate::lab::Lab;
use crate::network::Network;
use crate::traffic_control::{
    RTM_GETQDISC, RTM_GETTCLASS, TCA_KIND, TCA_STATS2, TCMSG_BYTES, tcmsg,
};
use netwarp_records::netlink::{Netlink, Request, attributes};
use netwarp_records::table::Batch;
use netwarp_records::tables::queue_states;

const TCA_STATS_APP: u16 = 4;

/// Samples of the inner state of queues.
pub struct QueueStates {
    nodes: Vec<(Netlink, Vec<u32>)>,
    table: Batch<queue_states::Rows>,
}

impl QueueStates {
    /// `None` if no end of a link asks for it.
    pub fn open(network: &Network, lab: &Lab, dir: &Path) -> Result<Option<Self>> {
        let mut wanted: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for end in lab.links.iter().flat_map(|link| &link.ends) {
            if end.queue_states && network.nodes.contains_key(&end.node) {
                wanted.entry(&end.node).or_default().push(end.index);
            }
        }
        if wanted.is_empty() {
            return Ok(None);
        }
        let mut nodes = Vec::new();
        for (node, indices) in wanted {
            let open = || Netlink::open(NETLINK_ROUTE);
            nodes.push((network.node(node)?.run(open)??, indices));
        }
        let table = Batch::create(dir)?;
        Ok(Some(Self { nodes, table }))
    }

    pub fn sample(&mut self, time_ns: i64) -> Result<()> {
        let table = &mut self.table;
        let mut outcome = Ok(());
        for (route, indices) in &mut self.nodes {
            for &index in indices.iter() {
                for (request, parts) in [
                    (RTM_GETQDISC, &[Part::Discipline, Part::Tin][..]),
                    (RTM_GETTCLASS, &[Part::Class]),
                ] {
                    let message = tcmsg(index, 0, 0, 0);
                    route.dump(Request::new(request, 0).raw(&message), |_, payload| {
                        // A dump of qdiscs has those of all interfaces.
                        if word(payload, 4) == Some(index) {
                            read(payload, parts, &mut |row| {
                                if let Err(e) = table.push(queue_states::Row { time_ns, ..row }) {
                                    outcome = Err(e);
                                }
                            });
                        }
                    })?;
                }
            }
        }
        outcome
    }

    pub fn finish(&mut self) -> Result<()> {
        self.table.finish()
    }
}

/// Gives a row for each number that a qdisc or a class reports about these parts of it, without its time.
fn read(payload: &[u8], parts: &[Part], each: &mut impl FnMut(queue_states::Row)) {
    let (Some(interface_index), Some(handle)) = (word(payload, 4), word(payload, 8)) else {
        return;
    };
    let all = payload.get(TCMSG_BYTES..).unwrap_or_default();
    let kind = find(all, TCA_KIND).and_then(|text| std::str::from_utf8(text).ok());
    let kind = kind.unwrap_or_default().trim_end_matches('\0');
    let stats = find(all, TCA_STATS2).unwrap_or_default();
    let known = REPORTED
        .iter()
        .filter(|one| one.discipline == kind && parts.contains(&one.part));
    for one in known {
        let mut row = |tin, name, value| {
            each(queue_states::Row {
                time_ns: 0,
                interface_index,
                handle,
                kind,
                tin,
                name,
                value,
            });
        };
        if one.part == Part::Tin {
            let app = find(stats, TCA_STATS_APP).unwrap_or_default();
            for (number, tin) in attributes(find(app, one.attribute).unwrap_or_default()) {
                let place = u8::try_from(number.saturating_sub(1)).ok();
                values(tin, one, &mut |name, value| row(place, name, value));
            }
        } else if let Some(content) = find(stats, one.attribute) {
            values(content, one, &mut |name, value| row(None, name, value));
        }
    }
}

/// Gives the name and the value of each number that `content` has.
fn values(content: &[u8], reported: &Reported, each: &mut impl FnMut(&'static str, f64)) {
    for variable in reported.variables {
        let (bytes, at) = if reported.nested {
            let kind = u16::try_from(variable.at).unwrap_or_default();
            (find(content, kind).unwrap_or_default(), 0)
        } else {
            (content, variable.at)
        };
        let number = match variable.number {
            Number::U32 => word(bytes, at).map(f64::from),
            Number::S32 => word(bytes, at).map(|value| f64::from(value.cast_signed())),
            Number::U64 => bytes
                .get(at..at + 8)
                .and_then(|b| b.try_into().ok())
                .map(|b| u64::from_ne_bytes(b) as f64),
        };
        if let Some(number) = number {
            each(variable.name, number * variable.scale);
        }
    }
}

fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find_map(|(found, value)| (found == kind).then_some(value))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    bytes.try_into().ok().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr(kind: u16, value: &[u8]) -> Vec<u8> {
        let len = (value.len() + 4) as u16;
        let mut bytes = [len.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend_from_slice(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn message(kind: &str, stats: &[u8]) -> Vec<u8> {
        let mut bytes = tcmsg(13, 0x10_0000, 0, 0).to_vec();
        bytes.extend(attr(TCA_KIND, format!("{kind}\0").as_bytes()));
        bytes.extend(attr(TCA_STATS2, stats));
        bytes
    }

    fn rows(payload: &[u8], parts: &[Part]) -> Vec<(Option<u8>, String, f64)> {
        let mut found = Vec::new();
        read(payload, parts, &mut |row| {
            found.push((row.tin, row.name.to_string(), row.value));
        });
        found
    }

    #[test]
    fn probabilities_are_shares() {
        let mut stats = (1_u64 << 63).to_ne_bytes().to_vec();
        stats.extend(15_000_u32.to_ne_bytes());
        let found = rows(
            &message("pie", &attr(TCA_STATS_APP, &stats)),
            &[Part::Discipline],
        );
        // A kernel whose structure is shorter lacks the others.
        let expected = [
            (None, "prob".to_string(), 0.5),
            (None, "delay_us".to_string(), 15_000.0),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn tins_have_their_number() {
        let tins: Vec<u8> = [(1, 7_u32), (2, 9)]
            .iter()
            .flat_map(|(number, sent)| attr(*number, &attr(2, &sent.to_ne_bytes())))
            .collect();
        let stats = attr(TCA_STATS_APP, &attr(10, &tins));
        let found = rows(&message("cake", &stats), &[Part::Discipline, Part::Tin]);
        let expected = [
            (Some(0), "sent_pkts".to_string(), 7.0),
            (Some(1), "sent_pkts".to_string(), 9.0),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn malformed_messages_have_no_rows() {
        let whole = message("pie", &attr(TCA_STATS_APP, &[0; 12]));
        for len in 0..whole.len() - 12 {
            assert!(
                rows(&whole[..len], &[Part::Discipline]).is_empty(),
                "{len} bytes"
            );
        }
        assert!(rows(&message("pfifo", &[]), &[Part::Discipline]).is_empty());
    }
}
