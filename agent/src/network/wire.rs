//! The wire between two interfaces: what comes in at one side is redirected to the other side's netem, which gives it
//! serialisation, delay and the rest. The nodes' own interfaces carry nothing but their queues.

use anyhow::{Context, Result, bail};
use netlink_sys::protocols::NETLINK_ROUTE;

use super::Namespace;
use crate::lab::{End, Lab, Link, Loss, Wire};
use crate::netlink::{NLM_F_CREATE, NLM_F_EXCL, Netlink, Request};

const RTM_NEWQDISC: u16 = 36;
const RTM_NEWTFILTER: u16 = 44;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TC_H_ROOT: u32 = 0xffff_ffff;
const TC_H_CLSACT: u32 = 0xffff_fff1;
const TC_H_INGRESS: u32 = 0xffff_fff2;
const HANDLE: u32 = 0x0001_0000;

/// Connects both ends of a link through the namespace of the wires.
pub fn connect(wires: &Namespace, link: &Link) -> Result<()> {
    let mut route = wires.run(|| Netlink::open(NETLINK_ROUTE))??;
    let [a, b] = &link.ends;
    for (from, to) in [(a, b), (b, a)] {
        route
            .change(netem(to, &from.wire, true)?)
            .context("netem")?;
    }
    for (from, to) in [(a, b), (b, a)] {
        route.change(clsact(from)).context("clsact")?;
        route.change(redirect(from, to)).context("mirred")?;
    }
    Ok(())
}

/// Changes the direction that leaves the end with this index, in place: what is on the wire stays on it.
pub fn change(wires: &Namespace, lab: &Lab, index: u32, wire: &Wire) -> Result<()> {
    let ends = lab.links.iter().map(|l| &l.ends);
    let to = ends
        .flat_map(|[a, b]| [(a, b), (b, a)])
        .find(|(from, _)| from.index == index)
        .map(|(_, to)| to)
        .with_context(|| format!("no interface has the index {index}"))?;
    let mut route = wires.run(|| Netlink::open(NETLINK_ROUTE))??;
    route.change(netem(to, wire, false)?)
}

/// struct tcmsg
fn tcmsg(index: u32, handle: u32, parent: u32, info: u32) -> [u8; 20] {
    let mut bytes = [0; 20];
    for (at, value) in [(4, index), (8, handle), (12, parent), (16, info)] {
        bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    bytes
}

fn clsact(end: &End) -> Request {
    Request::new(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&tcmsg(end.wire_index, 0xffff_0000, TC_H_CLSACT, 0))
        .text(TCA_KIND, "clsact")
}

/// `matchall action mirred egress redirect dev`: linux/pkt_cls.h, linux/tc_act/tc_mirred.h.
fn redirect(from: &End, to: &End) -> Request {
    const TCA_MATCHALL_ACT: u16 = 2;
    const TCA_ACT_KIND: u16 = 1;
    const TCA_ACT_OPTIONS: u16 = 2;
    const TCA_MIRRED_PARMS: u16 = 2;
    const TC_ACT_STOLEN: u32 = 4;
    const TCA_EGRESS_REDIR: u32 = 1;
    let parms: Vec<u8> = [0, 0, TC_ACT_STOLEN, 0, 0, TCA_EGRESS_REDIR, to.wire_index]
        .iter()
        .flat_map(|v| v.to_ne_bytes())
        .collect();
    let every_protocol = u32::from((libc::ETH_P_ALL as u16).to_be());
    Request::new(RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL)
        .raw(&tcmsg(
            from.wire_index,
            0,
            TC_H_INGRESS,
            (1 << 16) | every_protocol,
        ))
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

/// The netem of the direction that arrives at `to`; with `create` a new one, else a change in place, which has to
/// restate everything, since netem_change() resets what it is not told.
fn netem(to: &End, wire: &Wire, create: bool) -> Result<Request> {
    let flags = if create { NLM_F_CREATE | NLM_F_EXCL } else { 0 };
    let loss = match &wire.loss {
        Some(Loss::Random { p, .. }) => probability(*p),
        _ => 0,
    };
    let gap = u32::from(wire.reorder > 0.0);
    // struct tc_netem_qopt: latency, limit, loss, gap, duplicate, jitter; the times follow with 64 bits.
    let qopt = [
        0,
        wire.limit_pkts,
        loss,
        gap,
        probability(wire.duplicate),
        0,
    ];
    let options = qopt
        .iter()
        .flat_map(|v| v.to_ne_bytes())
        .collect::<Vec<_>>();
    let distribution = wire
        .distribution
        .as_deref()
        .map(distribution_table)
        .transpose()?;
    let request = Request::new(RTM_NEWQDISC, flags)
        .raw(&tcmsg(to.wire_index, HANDLE, TC_H_ROOT, 0))
        .text(TCA_KIND, "netem")
        .nest(TCA_OPTIONS, |r| {
            netem_attributes(r.raw(&options), wire, distribution.as_deref())
        });
    Ok(request)
}

/// linux/pkt_sched.h, TCA_NETEM_*
fn netem_attributes(request: Request, wire: &Wire, distribution: Option<&[u8]>) -> Request {
    const CORR: u16 = 1;
    const DELAY_DIST: u16 = 2;
    const REORDER: u16 = 3;
    const CORRUPT: u16 = 4;
    const LOSS: u16 = 5;
    const RATE: u16 = 6;
    const RATE64: u16 = 8;
    const LATENCY64: u16 = 10;
    const JITTER64: u16 = 11;
    const PRNG_SEED: u16 = 14;
    let words = |values: &[u32]| {
        values
            .iter()
            .flat_map(|v| v.to_ne_bytes())
            .collect::<Vec<u8>>()
    };
    let loss_correlation = match &wire.loss {
        Some(Loss::Random { correlation, .. }) => probability(*correlation),
        _ => 0,
    };
    // One byte per second above the shaper's rate, whose own rounding down (psched_l2t_ns) could otherwise make a
    // nanosecond's queue grow here with every packet.
    let bytes_per_s = wire.rate_bps / 8 + 1;
    let rate32 = u32::try_from(bytes_per_s).unwrap_or(u32::MAX);
    let mut request = request
        .attr(RATE, &words(&[rate32, 0, 0, 0]))
        .u64(RATE64, bytes_per_s)
        .u64(LATENCY64, wire.delay_ns)
        .u64(JITTER64, wire.jitter_ns)
        .u64(PRNG_SEED, wire.seed)
        .attr(
            CORR,
            &words(&[probability(wire.jitter_correlation), loss_correlation, 0]),
        )
        .attr(REORDER, &words(&[probability(wire.reorder), 0]))
        .attr(CORRUPT, &words(&[probability(wire.corrupt), 0]));
    if let Some(table) = distribution {
        request = request.attr(DELAY_DIST, table);
    }
    match &wire.loss {
        // struct tc_netem_gimodel: p13, p31, p32, p14, p23
        Some(Loss::State {
            p13,
            p31,
            p32,
            p23,
            p14,
        }) => request.nest(LOSS, |r| {
            r.attr(1, &words(&[*p13, *p31, *p32, *p14, *p23].map(probability)))
        }),
        // struct tc_netem_gemodel: p, r, h (kept in the bad state), k1 (lost in the good state); loss_gilb_ell()
        Some(Loss::Gemodel {
            p,
            r,
            one_minus_h,
            one_minus_k,
        }) => request.nest(LOSS, |nest| {
            nest.attr(
                2,
                &words(&[*p, *r, 1.0 - one_minus_h, *one_minus_k].map(probability)),
            )
        }),
        _ => request,
    }
}

/// A probability as netem has it: a share of 2³² − 1.
fn probability(p: f64) -> u32 {
    (p.clamp(0.0, 1.0) * f64::from(u32::MAX)).round() as u32
}

/// iproute2's table of a named distribution: numbers that are 8192 times the deviation in units of jitter.
fn distribution_table(name: &str) -> Result<Vec<u8>> {
    for place in ["/usr/lib/tc", "/usr/lib64/tc", "/lib/tc"] {
        let Ok(text) = std::fs::read_to_string(format!("{place}/{name}.dist")) else {
            continue;
        };
        let mut table = Vec::new();
        for word in text
            .lines()
            .filter(|l| !l.starts_with('#'))
            .flat_map(str::split_whitespace)
        {
            let value: i16 = word
                .parse()
                .with_context(|| format!("{place}/{name}.dist: {word:?}"))?;
            table.extend_from_slice(&value.to_ne_bytes());
        }
        return Ok(table);
    }
    bail!("iproute2 has no distribution {name:?} (looked for /usr/lib/tc/{name}.dist)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_fill_the_whole_range() {
        assert_eq!(probability(0.0), 0);
        assert_eq!(probability(1.0), u32::MAX);
        assert_eq!(probability(0.5), 1 << 31);
        assert_eq!(probability(2.0), u32::MAX);
    }
}
