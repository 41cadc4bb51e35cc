//! Delivery opportunities in place of a rate: the root discipline of an end whose link follows a Mahimahi trace. The
//! kernel's side is net/sched/sch_opportunity.c of netwarp's kernel; tc sets up the queue below it.

use anyhow::{Context, Result};

use super::site::Site;
use crate::lab::{Lab, Opportunities};
use crate::traffic_control::{RTM_NEWQDISC, TC_H_ROOT, TCA_KIND, TCA_OPTIONS, tcmsg};
use netwarp_records::netlink::{NLM_F_CREATE, NLM_F_EXCL, Request};

const HANDLE: u32 = 0x0001_0000;
const TCA_OPPORTUNITY_PARMS: u16 = 1;
const TCA_OPPORTUNITY_TRACE: u16 = 2;

/// sizeof(struct opportunity_entry)
const ENTRY: usize = 8;
/// Size of the trace's entries in one message: the attribute around them holds less than 64 kB.
pub(super) const CHUNK_BYTES: usize = 4096 * ENTRY;

/// Sets up every end of this node whose link follows opportunities, which begin with the run. Devices follow them by
/// themselves.
pub fn apply(lab: &Lab, node: &mut Site) -> Result<()> {
    let Site {
        route, ends, t0_ns, ..
    } = node;
    for (own, _) in ends.iter().filter(|(own, _)| !lab.is_device(own.index)) {
        let Some(trace) = &own.opportunities else {
            continue;
        };
        let flags = NLM_F_CREATE | NLM_F_EXCL;
        let entries = entries(&trace.trace)?;
        let parameters = parameters(trace, *t0_ns)?;
        let mut requests = vec![request(
            own.index,
            flags,
            TCA_OPPORTUNITY_PARMS,
            &parameters,
        )];
        requests.extend(
            entries
                .chunks(CHUNK_BYTES)
                .map(|chunk| request(own.index, 0, TCA_OPPORTUNITY_TRACE, chunk)),
        );
        for message in requests {
            route
                .change(message)
                .with_context(|| format!("opportunities of {}", own.interface))?;
        }
    }
    Ok(())
}

fn request(index: u32, flags: u16, attribute: u16, value: &[u8]) -> Request {
    Request::new(RTM_NEWQDISC, flags)
        .raw(&tcmsg(index, HANDLE, TC_H_ROOT, 0))
        .text(TCA_KIND, "opportunity")
        .nest(TCA_OPTIONS, |r| r.attr(attribute, value))
}

/// Encodes struct opportunity_parms, which the driver of wires has too.
pub(super) fn parameters(trace: &Opportunities, start_ns: i64) -> Result<Vec<u8>> {
    let entries = trace.trace.split_ascii_whitespace().count();
    Ok([
        start_ns.to_ne_bytes().as_slice(),
        &trace.period_ms.to_ne_bytes(),
        &trace.bytes.to_ne_bytes(),
        &trace.overhead_bytes.to_ne_bytes(),
        &u32::try_from(entries)?.to_ne_bytes(),
        &[0; 4],
    ]
    .concat())
}

/// Encodes struct opportunity_entry for each entry: time and number.
pub(super) fn entries(trace: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for word in trace.split_ascii_whitespace() {
        let (at_ms, count) = word.split_once('x').unwrap_or((word, "1"));
        for number in [at_ms, count] {
            let value: u32 = number
                .parse()
                .with_context(|| format!("{word:?} is not a time of opportunities"))?;
            bytes.extend_from_slice(&value.to_ne_bytes());
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_is_what_the_kernel_reads() -> Result<()> {
        let trace = Opportunities {
            bytes: 1504,
            overhead_bytes: -10,
            period_ms: 1000,
            mean_rate_bps: 0,
            trace: "7x50 1000".into(),
        };
        let bytes = parameters(&trace, 10_000_000_000)?;
        assert_eq!(bytes.len(), 32);
        assert_eq!(bytes[16..20], 1504_u32.to_ne_bytes());
        assert_eq!(bytes[20..24], (-10_i32).to_ne_bytes());
        assert_eq!(bytes[24..28], 2_u32.to_ne_bytes());
        let words: Vec<u32> = entries(&trace.trace)?
            .chunks_exact(4)
            .map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        assert_eq!(words, [7, 50, 1000, 1]);
        assert!(entries("7y").is_err());
        Ok(())
    }
}
