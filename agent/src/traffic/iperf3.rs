//! `iperf3`: the program, with arguments made from the flow's options.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::fields::Iperf3Fields;
use super::flow_stats::FlowStats;
use super::generator::{Generator, Setup};
use super::program::{self, Plan, Report};
use crate::lab::Flow;
use crate::tools;

const IPERF3: &str = "iperf3";

/// Maximum number of intervals in a UDP receiver's report.
const MAX_INTERVALS: i64 = 2000;

pub fn prepare(setup: &Setup) -> Result<Box<dyn Generator>> {
    let flow = setup.flow;
    let options: Iperf3Fields = flow.fields()?;
    let server_out = match is_udp(&options) {
        true => format!("iperf3-{}-server.json", flow.name),
        false => format!("{}-server.out", flow.name),
    };
    let plan = Plan {
        server: Some(server(flow, &options)),
        client: client(flow, &options),
        ready_port: Some(flow.destination_port),
        owns_sockets: false,
        root: None,
        client_out: setup.dir.join(format!("iperf3-{}.json", flow.name)),
        server_out: setup.dir.join(server_out),
        report: Some(Report {
            read,
            is_unanswered,
        }),
    };
    program::prepare(setup, plan)
}

/// Makes the server's command. Only the server knows which UDP datagrams arrived, so it reports in short intervals, of
/// which those in the run's window count.
fn server(flow: &Flow, options: &Iperf3Fields) -> Vec<String> {
    let mut words = tools::words(IPERF3);
    words.extend(
        [
            "-s",
            "-1",
            "-B",
            &flow.destination.to_string(),
            "-p",
            &flow.destination_port.to_string(),
        ]
        .map(String::from),
    );
    if is_udp(options) {
        words.extend(["-J".to_string(), "-i".to_string(), interval(flow)]);
    }
    words
}

fn is_udp(options: &Iperf3Fields) -> bool {
    options.protocol == "udp"
}

/// Interval of a UDP receiver's reports, in seconds: a tenth of a second, but at most 2000 reports in all.
fn interval(flow: &Flow) -> String {
    let tenths = (flow.duration_ns / MAX_INTERVALS / 100_000_000).clamp(1, 600);
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Makes the client's arguments; the time is rounded down to the whole seconds that iperf3 takes.
fn client(flow: &Flow, options: &Iperf3Fields) -> Vec<String> {
    let destination = SocketAddr::new(flow.destination, flow.destination_port);
    let mut words = tools::words(IPERF3);
    words.extend(
        [
            "-J",
            "-c",
            &destination.ip().to_string(),
            "-p",
            &destination.port().to_string(),
        ]
        .map(String::from),
    );
    match options.bytes {
        Some(bytes) => words.extend(["-n".to_string(), bytes.to_string()]),
        None => words.extend([
            "-t".to_string(),
            (flow.duration_ns / 1_000_000_000).max(1).to_string(),
        ]),
    }
    if is_udp(options) {
        words.push("-u".to_string());
        if options
            .args
            .iter()
            .any(|word| word == "-R" || word == "--reverse")
        {
            words.extend(["-i".to_string(), interval(flow)]);
        }
    }
    if let Some(rate) = options.rate_bps {
        words.extend(["-b".to_string(), rate.to_string()]);
    }
    if let Some(cc) = &options.cc {
        words.extend(["-C".to_string(), cc.clone()]);
    }
    words.extend(options.args.iter().cloned());
    words
}

fn is_unanswered(out: &Path) -> bool {
    let text = std::fs::read_to_string(out).unwrap_or_default();
    let report: Value = serde_json::from_str(&text).unwrap_or_default();
    report["error"].as_str().is_some_and(is_timeout)
}

/// Recognises a timeout: iperf3 ends its errors with strerror(3). A UDP test begins with one datagram each way, for
/// which iperf3 waits 30 s.
fn is_timeout(error: &str) -> bool {
    error.ends_with(": Connection timed out")
        || error == "unable to read from stream socket: Resource temporarily unavailable"
}

/// Reads iperf3's report: `end.sum_sent`, `end.sum_received`, for UDP `end.sum`; its error becomes the flow's, unless
/// the network lost the connection.
fn read(out: &Path, stats: &mut FlowStats) -> Result<()> {
    let text = std::fs::read_to_string(out).context("iperf3's output")?;
    let report: Value = serde_json::from_str(&text).context("iperf3's output is not JSON")?;
    if let Some(error) = report["error"].as_str() {
        if !is_timeout(error) {
            stats.error = Some(format!("iperf3: {error}"));
        } else if report["start"]["connected"] == json!([]) {
            stats.connect_ns = None;
        }
        return Ok(());
    }
    let end = &report["end"];
    let sum = |name: &str, what: &str| {
        end[name][what]
            .as_u64()
            .or_else(|| end["sum"][what].as_u64())
    };
    stats.sent_bytes = sum("sum_sent", "bytes");
    stats.received_bytes = sum("sum_received", "bytes");
    // The receiver counted these bytes in this time, which a deep queue makes longer than the test.
    stats.received_in_ns = end["sum_received"]["seconds"]
        .as_f64()
        .map(|seconds| (seconds * 1e9).round() as i64);
    stats.retransmits = end["sum_sent"]["retransmits"].as_u64().map(|v| v as u32);
    stats.sent_pkts = end["sum"]["packets"].as_u64();
    stats.received_pkts = stats
        .sent_pkts
        .zip(end["sum"]["lost_packets"].as_u64())
        .map(|(all, lost)| all - lost.min(all));
    stats.jitter_us = end["sum"]["jitter_ms"].as_f64().map(|ms| ms * 1e3);
    Ok(())
}
