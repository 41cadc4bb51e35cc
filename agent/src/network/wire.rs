//! The wire between two interfaces: packets that arrive at one side are redirected to the other side's netem, which
//! adds serialisation, delay and the rest. The nodes' own interfaces only have their queues.

use anyhow::{Context, Result};
use netlink_sys::protocols::NETLINK_ROUTE;

use super::namespace::Namespace;
use super::nodes::Network;
use super::{bridge, link};
use crate::backend::Wiring;
use crate::cells::probability;
use crate::constants::{UNLIMITED_WIRE_BYTES_PER_S, WIRE_ALLOWANCE_BYTES_PER_S};
use crate::lab::{End, Lab, Link, Loss, Wire};
use crate::tools;
use crate::traffic_control::{RTM_NEWQDISC, TC_H_ROOT, TCA_KIND, TCA_OPTIONS, tcmsg};
use netwarp_records::netlink::{NLM_F_CREATE, NLM_F_EXCL, Netlink, Request};

const RTM_NEWTFILTER: u16 = 44;
const TC_H_CLSACT: u32 = 0xffff_fff1;
const TC_H_INGRESS: u32 = 0xffff_fff2;
const HANDLE: u32 = 0x0001_0000;

/// Connects both ends of a link through the namespace of the wires.
pub fn connect(network: &Network, lab: &Lab, link: &Link) -> Result<()> {
    let mut route = network.wire.run(|| Netlink::open(NETLINK_ROUTE))??;
    let wiring = network.backend.wiring();
    let [a, b] = &link.ends;
    for (from, to) in [(a, b), (b, a)] {
        if wiring == Wiring::Redirect || is_impaired(lab, from) {
            route
                .change(netem(to, &from.wire, None)?)
                .context("netem")?;
        }
    }
    if wiring != Wiring::Redirect {
        return bridge::join(&mut route, link);
    }
    for (from, to) in [(a, b), (b, a)] {
        let (arrives, leaves) = (from.wire_index, to.wire_index);
        redirect_all(&mut route, arrives, leaves)?;
    }
    Ok(())
}

/// Whether the wire that leaves this end ever affects packets.
pub(super) fn is_impaired(lab: &Lab, from: &End) -> bool {
    let changes = lab.changes.iter().filter(|c| c.index == from.index);
    changes
        .filter_map(|c| c.wire.as_ref())
        .chain([&from.wire])
        .any(Wire::acts)
}

/// Lets the wires' interfaces notice that they are connected, once the nodes' are up.
pub fn settle(wires: &Namespace, lab: &Lab) -> Result<()> {
    let mut route = wires.run(|| Netlink::open(NETLINK_ROUTE))??;
    let through_wires = lab.links.iter().filter(|l| !l.device);
    let mut ends = through_wires.flat_map(|l| &l.ends);
    ends.try_for_each(|end| route.change(link::settle(end.wire_index)))
}

/// Changes the direction that leaves one end, in place: packets on the wire stay on it.
pub fn change(
    network: &Network,
    lab: &Lab,
    index: u32,
    changed: Option<&Wire>,
    wire: &Wire,
) -> Result<()> {
    let (from, to) = lab.ends(index)?;
    if network.backend.wiring() != Wiring::Redirect && !is_impaired(lab, from) {
        // Only the rate changes, which is the shaper's.
        return Ok(());
    }
    let before = changed.unwrap_or(&from.wire);
    let mut route = network.wire.run(|| Netlink::open(NETLINK_ROUTE))??;
    route.change(netem(to, wire, Some(before))?)
}

/// Redirects all packets that arrive at one interface to another.
pub(super) fn redirect_all(route: &mut Netlink, arrives: u32, leaves: u32) -> Result<()> {
    route.change(clsact(arrives)).context("clsact")?;
    route.change(redirect(arrives, leaves)).context("mirred")
}

fn clsact(index: u32) -> Request {
    Request::new(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&tcmsg(index, 0xffff_0000, TC_H_CLSACT, 0))
        .text(TCA_KIND, "clsact")
}

/// Makes the filter `matchall action mirred egress redirect dev`: linux/pkt_cls.h, linux/tc_act/tc_mirred.h.
fn redirect(arrives: u32, leaves: u32) -> Request {
    const TCA_MATCHALL_ACT: u16 = 2;
    const TCA_ACT_KIND: u16 = 1;
    const TCA_ACT_OPTIONS: u16 = 2;
    const TCA_MIRRED_PARMS: u16 = 2;
    const TC_ACT_STOLEN: u32 = 4;
    const TCA_EGRESS_REDIR: u32 = 1;
    let parms: Vec<u8> = [0, 0, TC_ACT_STOLEN, 0, 0, TCA_EGRESS_REDIR, leaves]
        .iter()
        .flat_map(|v| v.to_ne_bytes())
        .collect();
    let every_protocol = u32::from((libc::ETH_P_ALL as u16).to_be());
    Request::new(RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&tcmsg(arrives, 0, TC_H_INGRESS, (1 << 16) | every_protocol))
        .text(TCA_KIND, "matchall")
        .nest(TCA_OPTIONS, |r| {
            r.nest(TCA_MATCHALL_ACT, |r| {
                r.nest(1, |r| {
                    r.text(TCA_ACT_KIND, "mirred")
                        .nest(TCA_ACT_OPTIONS, |r| r.attr(TCA_MIRRED_PARMS, &parms))
                })
            })
        })
}

/// Makes the netem of the direction that arrives at `to`: a new one, or a change in place of the one that was `before`.
pub(super) fn netem(to: &End, wire: &Wire, before: Option<&Wire>) -> Result<Request> {
    let flags = match before {
        None => NLM_F_CREATE | NLM_F_EXCL,
        Some(_) => 0,
    };
    let loss = match &wire.loss {
        Some(Loss::Random { p, .. }) => probability(*p),
        _ => 0,
    };
    let gap = u32::from(wire.reorder > 0.0);
    // struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter; the times follow with 64 bits.
    let options = words(&[
        0,
        wire.limit_pkts,
        loss,
        gap,
        probability(wire.duplicate),
        0,
    ]);
    let table = jitter_table(wire, before)?;
    let request = Request::new(RTM_NEWQDISC, flags)
        .raw(&tcmsg(to.wire_index, HANDLE, TC_H_ROOT, 0))
        .text(TCA_KIND, "netem")
        .nest(TCA_OPTIONS, |r| {
            let r = fixed_attributes(r.raw(&options), wire);
            let r = own_attributes(random_attributes(r, wire, before), wire, before);
            loss_attribute(
                table.iter().fold(r, |r, t| r.attr(TCA_NETEM_DELAY_DIST, t)),
                wire,
                before,
            )
        });
    Ok(request)
}

// linux/pkt_sched.h
const TCA_NETEM_CORR: u16 = 1;
const TCA_NETEM_DELAY_DIST: u16 = 2;
const TCA_NETEM_REORDER: u16 = 3;
const TCA_NETEM_LOSS: u16 = 5;
const TCA_NETEM_RATE: u16 = 6;
const TCA_NETEM_ECN: u16 = 7;
const TCA_NETEM_RATE64: u16 = 8;
const TCA_NETEM_PRNG_SEED: u16 = 14;

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_ne_bytes()).collect()
}

/// Adds attributes that netem_change() resets unless they are given again, and those that are harmless to repeat.
fn fixed_attributes(request: Request, wire: &Wire) -> Request {
    let bytes_per_s = wire.rate_bps.map_or(UNLIMITED_WIRE_BYTES_PER_S, |rate| {
        rate / 8 + WIRE_ALLOWANCE_BYTES_PER_S
    });
    let rate32 = u32::try_from(bytes_per_s).unwrap_or(u32::MAX);
    request
        .attr(TCA_NETEM_RATE, &words(&[rate32, 0, 0, 0]))
        .attr(TCA_NETEM_ECN, &words(&[u32::from(marks(wire))]))
        .u64(TCA_NETEM_RATE64, bytes_per_s)
}

/// Adds seed and correlations. Repeating them would restart the random sequences (prandom_seed_state(),
/// init_crandom()), so that the same packets would be lost after each change. So a change names only what differs.
fn random_attributes(request: Request, wire: &Wire, before: Option<&Wire>) -> Request {
    let correlations = |w: &Wire| [probability(w.jitter_correlation), loss_correlation(w), 0];
    let mut request = request;
    if before.is_none() {
        request = request.u64(TCA_NETEM_PRNG_SEED, wire.seed);
    }
    if before.is_none_or(|b| correlations(b) != correlations(wire)) {
        request = request.attr(TCA_NETEM_CORR, &words(&correlations(wire)));
    }
    let reorder = probability(wire.reorder);
    // With a gap and without this, netem_change() takes a probability of 1.
    if reorder > 0 || before.is_some_and(|b| b.reorder > 0.0) {
        request = request.attr(TCA_NETEM_REORDER, &words(&[reorder, 0]));
    }
    request
}

/// Adds the attributes that hold one property each (`wire.rs`).
fn own_attributes(request: Request, wire: &Wire, before: Option<&Wire>) -> Request {
    let former = before.map(Wire::attributes).unwrap_or_default();
    wire.attributes()
        .into_iter()
        .enumerate()
        .filter(|(at, new)| {
            new.repeated || former.get(*at).is_none_or(|old| old.content != new.content)
        })
        .fold(request, |r, (_, new)| r.attr(new.number, &new.content))
}

/// Whether packets that can be marked are marked instead of lost.
fn marks(wire: &Wire) -> bool {
    matches!(wire.loss, Some(Loss::Random { ecn: true, .. }))
}

fn loss_correlation(wire: &Wire) -> u32 {
    match &wire.loss {
        Some(Loss::Random { correlation, .. }) => probability(*correlation),
        _ => 0,
    }
}

/// Adds the model of loss. Without this attribute netem_change() returns to random loss; a model in it restarts in its
/// good state; and an empty one keeps model and state, as a change of another property needs.
fn loss_attribute(request: Request, wire: &Wire, before: Option<&Wire>) -> Request {
    let model = match &wire.loss {
        // struct tc_netem_gimodel: p13, p31, p32, p14, p23
        Some(Loss::State {
            p13,
            p31,
            p32,
            p23,
            p14,
        }) => (1, [*p13, *p31, *p32, *p14, *p23].map(probability).to_vec()),
        // struct tc_netem_gemodel: p, r, h (kept in the bad state), k1 (lost in the good state); loss_gilb_ell()
        Some(Loss::Gemodel {
            p,
            r,
            one_minus_h,
            one_minus_k,
        }) => (
            2,
            [*p, *r, 1.0 - one_minus_h, *one_minus_k]
                .map(probability)
                .to_vec(),
        ),
        _ => return request,
    };
    let same = before.is_some_and(|b| b.loss == wire.loss);
    request.nest(TCA_NETEM_LOSS, |nest| {
        if same {
            nest
        } else {
            nest.attr(model.0, &words(&model.1))
        }
    })
}

/// The table of the jitter's distribution, if netem has to be given it: at first unless it is netem's own (uniform),
/// and when it changes. netem cannot forget a table, so a change to uniform needs a table.
fn jitter_table(wire: &Wire, before: Option<&Wire>) -> Result<Option<Vec<u8>>> {
    match (&wire.distribution, before) {
        (Some(name), None) => distribution_table(name).map(Some),
        (None, None) => Ok(None),
        (new, Some(before)) if *new == before.distribution => Ok(None),
        (Some(name), Some(_)) => distribution_table(name).map(Some),
        (None, Some(_)) => Ok(Some(uniform_table())),
    }
}

/// Every fourth value of the range of one jitter to either side (NETEM_DIST_SCALE is 8192).
fn uniform_table() -> Vec<u8> {
    (-8192_i16..8192)
        .step_by(4)
        .flat_map(|value| (value + 2).to_ne_bytes())
        .collect()
}

/// Reads iproute2's table of a named distribution: numbers that are 8192 times the deviation in units of jitter.
pub(super) fn distribution_table(name: &str) -> Result<Vec<u8>> {
    let path = tools::distributions()?.join(format!("{name}.dist"));
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("iproute2's distribution {name:?}: {}", path.display()))?;
    let mut table = Vec::new();
    for word in text
        .lines()
        .filter(|l| !l.starts_with('#'))
        .flat_map(str::split_whitespace)
    {
        let value: i16 = word
            .parse()
            .with_context(|| format!("{}: {word:?}", path.display()))?;
        table.extend_from_slice(&value.to_ne_bytes());
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_uniform_table_is_even_around_zero() {
        let table: Vec<i64> = uniform_table()
            .chunks_exact(2)
            .map(|pair| i64::from(i16::from_ne_bytes([pair[0], pair[1]])))
            .collect();
        assert_eq!(table.len(), 4096);
        assert_eq!(table.iter().sum::<i64>(), 0);
        assert_eq!(
            (table.iter().min(), table.iter().max()),
            (Some(&-8190), Some(&8190))
        );
    }
}
