//! `machine.arrows`: other activity of the machine during the run, if it may disturb the run: proc_stat(5), the
//! kernel's /proc/net/softnet_stat (softnet_seq_show()) and /proc/net/snmp.

use std::path::Path;

use anyhow::Result;
use nix::time::{ClockId, clock_gettime};

use crate::network::Network;
use crate::time::{realtime_offset_ns, take_lateness};
use netwarp_records::table::Batch;
use netwarp_records::tables::machine;

/// Shortest time between two rows.
const STEP_NS: i64 = 100_000_000;

/// Samples of the machine.
pub struct Machine {
    table: Batch<machine::Rows>,
    next_ns: i64,
    tick_us: u64,
}

impl Machine {
    pub fn open(dir: &Path) -> Result<Self> {
        // SAFETY: sysconf takes one integer and touches no memory.
        let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
        Ok(Self {
            table: Batch::create(dir)?,
            next_ns: 0,
            tick_us: 1_000_000 / u64::try_from(ticks).unwrap_or(100).max(1),
        })
    }

    pub fn sample(&mut self, network: &Network, time_ns: i64, last: bool) -> Result<()> {
        if time_ns < self.next_ns && !last {
            return Ok(());
        }
        self.next_ns = time_ns + STEP_NS;
        let lateness = take_lateness();
        let (cpus, [busy, steal]) = processors(&read("/proc/stat"));
        let [softnet_dropped_pkts, softnet_squeezed] = softnet(&read("/proc/net/softnet_stat"));
        let mut udp_buffer_errors = 0;
        for node in network.nodes.values().filter(|_| last) {
            udp_buffer_errors += node.run(|| buffer_errors(&read("/proc/thread-self/net/snmp")))?;
        }
        self.table.push(machine::Row {
            time_ns,
            node: network.machine_of(),
            cpus,
            busy_us: busy * self.tick_us,
            steal_us: steal * self.tick_us,
            softnet_dropped_pkts,
            softnet_squeezed,
            agent_cpu_us: cpu_us(ClockId::CLOCK_PROCESS_CPUTIME_ID),
            sampling_cpu_us: cpu_us(ClockId::CLOCK_THREAD_CPUTIME_ID),
            timers: lateness.timers,
            late_timers: lateness.late,
            lateness_max_us: u64::try_from(lateness.max_ns / 1000).unwrap_or(0),
            realtime_offset_ns: realtime_offset_ns(),
            udp_buffer_errors: last.then_some(udp_buffer_errors),
            capture_missed_pkts: network.backend.missed_pkts(),
        })
    }

    pub fn finish(&mut self) -> Result<()> {
        self.table.finish()
    }
}

/// Reads a file; empty if that fails, as in a container that hides it.
fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn cpu_us(clock: ClockId) -> u64 {
    clock_gettime(clock).map_or(0, |t| (t.tv_sec() * 1_000_000 + t.tv_nsec() / 1000) as u64)
}

/// Returns the number of processors, their busy time in ticks, and the time that other machines took of them.
fn processors(stat: &str) -> (u16, [u64; 2]) {
    let is_processor = |line: &&str| line.starts_with("cpu") && !line.starts_with("cpu ");
    let cpus = stat.lines().filter(is_processor).count();
    // user nice system idle iowait irq softirq steal; guest time is in user time
    let all: Vec<u64> = numbers(stat.lines().next().unwrap_or_default(), 10);
    let at = |place: usize| all.get(place).copied().unwrap_or(0);
    let busy = at(0) + at(1) + at(2) + at(5) + at(6);
    (cpus as u16, [busy, at(7)])
}

/// Counts packets dropped before any protocol saw them, and how often a processor had more packets than it may take at
/// once; a line for each processor, hexadecimal.
fn softnet(text: &str) -> [u64; 2] {
    let mut sums = [0; 2];
    for line in text.lines() {
        let columns = numbers(&format!("- {line}"), 16);
        sums[0] += columns.get(1).copied().unwrap_or(0);
        sums[1] += columns.get(2).copied().unwrap_or(0);
    }
    sums
}

/// Counts datagrams that were lost at full sockets (`RcvbufErrors` of `Udp`).
fn buffer_errors(snmp: &str) -> u64 {
    let mut lines = snmp.lines().filter(|line| line.starts_with("Udp: "));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
        return 0;
    };
    let place = names.split_whitespace().position(|n| n == "RcvbufErrors");
    place
        .and_then(|place| values.split_whitespace().nth(place)?.parse().ok())
        .unwrap_or(0)
}

/// Parses the numbers after the first word.
fn numbers(line: &str, radix: u32) -> Vec<u64> {
    line.split_whitespace()
        .skip(1)
        .map(|word| u64::from_str_radix(word, radix).unwrap_or(0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_steal_are_told_from_idling() {
        let stat = "cpu  10 1 5 1000 7 2 3 4 0 0\ncpu0 1 1 1\ncpu1 1 1 1\nintr 7\n";
        assert_eq!(processors(stat), (2, [21, 4]));
    }

    #[test]
    fn drops_of_all_processors_count() {
        let text = "00007d04 0000000a 00000001 0\n000175f2 00000001 00000002 0\n";
        assert_eq!(softnet(text), [11, 3]);
    }

    #[test]
    fn datagrams_lost_in_a_full_socket_are_found_by_name() {
        let snmp =
            "Tcp: A\nTcp: 1\nUdp: InDatagrams NoPorts RcvbufErrors\nUdp: 5 0 7\nUdpLite: x\n";
        assert_eq!(buffer_errors(snmp), 7);
        assert_eq!(buffer_errors(""), 0);
    }
}
