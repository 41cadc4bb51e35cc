//! `interfaces.arrows`: the kernel's counts for each recorded interface, from the start to the end of recording.

use super::layout::Counts;
use netwarp_records::tables::interfaces::Row;

/// The row of a record.
pub fn row(counts: &Counts) -> Row {
    Row {
        interface_index: counts.ifindex(),
        sent_pkts: counts.sent(),
        sent_bytes: counts.sent_bytes(),
        arrived_pkts: counts.arrived(),
        arrived_bytes: counts.arrived_bytes(),
        lost_pkts: counts.lost(),
        lost_bytes: counts.lost_bytes(),
        received_pkts: counts.received(),
        delivered_pkts: counts.delivered(),
        forwarded_pkts: counts.forwarded(),
        dropped_pkts: counts.dropped(),
        elsewhere_pkts: counts.elsewhere(),
        waiting_pkts: Some(counts.waiting()),
        unsent_pkts: Some(counts.unsent()),
    }
}
