//! Plans of losses, copies and reordering as attributes of the driver.

use std::net::IpAddr;

use crate::lab::{Lab, Plan, Planned, PlannedFlow, Wire};
use netwarp_records::netlink::Request;

const IFLA_WIRE_LOSE_PLAN: u16 = 13;
const IFLA_WIRE_COPY_PLAN: u16 = 14;
const IFLA_WIRE_SKIP_PLAN: u16 = 15;
const WIRE_PLAN_EVERY: u16 = 1;
const WIRE_PLAN_NUMBERS: u16 = 2;
const WIRE_PLAN_FROM: u16 = 3;
const WIRE_PLAN_UNTIL: u16 = 4;
const WIRE_PLAN_KIND: u16 = 5;
const WIRE_PLAN_FLOWS: u16 = 6;

/// Adds the plans of a wire, which hold for a whole run.
pub fn add(request: Request, lab: &Lab, wire: &Wire) -> Request {
    [
        (IFLA_WIRE_LOSE_PLAN, &wire.loss_plan),
        (IFLA_WIRE_COPY_PLAN, &wire.duplicate_plan),
        (IFLA_WIRE_SKIP_PLAN, &wire.reorder_plan),
    ]
    .into_iter()
    .filter_map(|(kind, plan)| Some((kind, plan.as_ref()?)))
    .fold(request, |request, (kind, plan)| {
        request.nest(kind, |inner| fill(inner, lab, plan))
    })
}

/// Adds the attributes of a plan; the driver's clock is that of the machine.
fn fill(request: Request, lab: &Lab, plan: &Plan) -> Request {
    let at = |ns: i64| (lab.t0_ns + ns).max(0).to_ne_bytes().to_vec();
    let numbers = plan.numbers.iter().flat_map(|n| n.to_ne_bytes()).collect();
    let flows = plan.flows.iter().flat_map(flow).collect();
    let parts = [
        (
            WIRE_PLAN_EVERY,
            plan.every.map(|n| n.to_ne_bytes().to_vec()),
        ),
        (WIRE_PLAN_NUMBERS, Some(numbers)),
        (WIRE_PLAN_FROM, plan.from_ns.map(at)),
        (WIRE_PLAN_UNTIL, plan.to_ns.map(at)),
        (WIRE_PLAN_KIND, Some(vec![kind(plan.kind)])),
        (WIRE_PLAN_FLOWS, Some(flows)),
    ];
    parts
        .into_iter()
        .filter_map(|(kind, value)| Some((kind, value?)))
        .fold(request, |request, (kind, value)| request.attr(kind, &value))
}

/// Encodes enum wire_kind.
fn kind(kind: Planned) -> u8 {
    match kind {
        Planned::Any => 0,
        Planned::Data => 1,
        Planned::Acks => 2,
    }
}

/// Encodes struct wire_flow. The destination's port alone, without that of the source, identifies the flow.
fn flow(flow: &PlannedFlow) -> Vec<u8> {
    let address = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => [ip.octets().as_slice(), &[0; 12]].concat(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let family = if flow.source.is_ipv4() { 4 } else { 6 };
    [
        address(flow.source).as_slice(),
        &address(flow.destination),
        &0_u16.to_ne_bytes(),
        &flow.destination_port.to_ne_bytes(),
        &[flow.protocol as u8, family, 0, 0],
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_has_the_size_of_the_drivers() {
        let found = flow(&PlannedFlow {
            protocol: 6,
            source: IpAddr::from([10, 0, 1, 1]),
            destination: IpAddr::from([10, 0, 2, 2]),
            destination_port: 5001,
        });
        assert_eq!(found.len(), 40);
        assert_eq!(found[..5], [10, 0, 1, 1, 0]);
        assert_eq!(found[34..38], [0x89, 0x13, 6, 4]);
    }
}
