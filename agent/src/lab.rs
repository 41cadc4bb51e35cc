//! The resolved lab that netwarp hands over in `run.json`. Nothing is decided here: every address, index, port, queue
//! and start time is in it. Unknown fields are errors, so that an old agent never runs half of a new lab.

use std::collections::BTreeMap;
use std::fmt::Formatter;
use std::net::IpAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::wire::Wire;

/// `run.json`, of which the agent needs only the lab.
#[derive(Debug, Deserialize)]
pub struct RunFile {
    pub lab: Lab,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Lab {
    pub format: u32,
    #[serde(rename = "seed")]
    pub _seed: u64,
    /// The run's start, counted from the start of its machine.
    pub t0_ns: i64,
    pub duration_ns: i64,
    pub machine: MachineSettings,
    pub modules: Vec<Module>,
    pub wire: Wires,
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
    pub routes: Vec<Route>,
    #[cfg_attr(test, serde(skip_serializing))]
    pub flows: Vec<Flow>,
    pub changes: Vec<Change>,
    pub tuners: Vec<Tuner>,
    pub record: Record,
    pub exec: Option<Exec>,
}

impl Lab {
    /// The end with this interface, and the end that it faces.
    pub fn ends(&self, index: u32) -> Result<(&End, &End)> {
        self.links
            .iter()
            .flat_map(|Link { ends: [a, b], .. }| [(a, b), (b, a)])
            .find(|(own, _)| own.index == index)
            .with_context(|| format!("no interface has the index {index}"))
    }

    /// The end with this interface.
    pub fn end(&self, index: u32) -> Result<&End> {
        self.ends(index).map(|(own, _)| own)
    }
}

/// Settings of the whole machine, shared by all its namespaces.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct MachineSettings {
    pub sysctl: Sysctls,
    /// Limit of open files for each process.
    pub open_files: u64,
}

/// A kernel module of the scenario. The engine has compiled it; the agent loads the binary.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Module {
    pub name: String,
    #[serde(rename = "place")]
    pub _place: String,
    #[serde(rename = "files")]
    pub _files: BTreeMap<String, String>,
    #[serde(rename = "parameters")]
    pub _parameters: BTreeMap<String, String>,
}

/// The namespace that holds the wires.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Wires {
    pub sysctl: Sysctls,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Node {
    pub name: String,
    /// Implied by the node's sysctls.
    #[serde(rename = "forward")]
    pub _forward: bool,
    pub sysctl: Sysctls,
    /// Duration of a system call for the node's programs.
    pub syscall_ns: u64,
}

/// Names and values in the order in which they are written, since writing some sysctls changes others.
#[derive(Debug, Default)]
pub struct Sysctls(pub Vec<(String, String)>);

impl<'de> Deserialize<'de> for Sysctls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Sysctls;

            fn expecting(&self, f: &mut Formatter) -> std::fmt::Result {
                f.write_str("sysctls by name")
            }

            fn visit_map<M: MapAccess<'de>>(
                self,
                mut map: M,
            ) -> std::result::Result<Sysctls, M::Error> {
                let mut settings = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    settings.push(entry);
                }
                Ok(Sysctls(settings))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub name: String,
    pub mtu: u32,
    pub offload: bool,
    pub ends: [End; 2],
}

/// The place where a link meets a node, and the direction that leaves from there.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct End {
    pub node: String,
    pub interface: String,
    pub index: u32,
    pub wire_index: u32,
    pub mac: String,
    pub addresses: Vec<String>,
    pub shaper: Option<Shaper>,
    pub opportunities: Option<Opportunities>,
    pub queue: Option<Queue>,
    /// tc commands of the scenario that replace these three.
    pub raw: Option<Vec<String>>,
    pub wire: Wire,
}

/// A limit on a link's rate, at the interface that sends into the link.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    pub rate_bps: u64,
    /// Size of a full frame.
    pub quantum_bytes: u32,
    /// Capacity of the token bucket, in time at the rate; 0: one byte.
    pub burst_ns: u64,
}

impl Shaper {
    /// Capacity of the token bucket.
    pub fn burst_bytes(&self) -> u64 {
        let bits = u128::from(self.rate_bps) * u128::from(self.burst_ns) / 1_000_000_000;
        u64::try_from(bits / 8).unwrap_or(u64::MAX).max(1)
    }
}

/// A queueing discipline; its options in tc's syntax.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Queue {
    pub handle: u16,
    pub kind: String,
    pub options: Vec<String>,
}

/// A queue that is attached during the run.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct NewQueue {
    pub handle: u16,
    pub kind: String,
    pub options: Vec<String>,
    /// Whether the previous queue is changed in place; if not, it is replaced.
    pub in_place: bool,
}

/// Delivery opportunities of a trace in place of a rate; the trace repeats every `period_ms`.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Opportunities {
    /// Size of one opportunity.
    pub bytes: u32,
    /// Bytes that are counted for a packet in addition to its frame.
    pub overhead_bytes: i32,
    pub period_ms: u64,
    #[serde(rename = "mean_rate_bps")]
    pub _mean_rate_bps: u64,
    /// `17x3 20`: three at 17 ms, one at 20 ms.
    pub trace: String,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Route {
    pub node: String,
    pub prefix: String,
    pub via: IpAddr,
    pub interface: String,
}

/// A change at one end of a link: its shaper's rate, its queue, and `wire`, the whole wire afterwards.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub at_ns: i64,
    pub link: String,
    pub node: String,
    #[serde(rename = "interface")]
    pub _interface: String,
    pub index: u32,
    pub rate_bps: Option<u64>,
    pub queue: Option<NewQueue>,
    pub wire: Option<Wire>,
}

/// The fields that flows of all kinds have; its generator reads the fields of its kind.
#[derive(Debug, Clone, Deserialize)]
pub struct Flow {
    pub id: u32,
    pub name: String,
    #[serde(rename = "group")]
    pub _group: String,
    /// The flow's kind: see `traffic::KINDS`.
    pub tool: String,
    pub from: String,
    pub to: String,
    #[serde(rename = "family")]
    pub _family: String,
    pub source: IpAddr,
    pub destination: IpAddr,
    pub source_port: u16,
    pub destination_port: u16,
    pub start_ns: i64,
    pub duration_ns: i64,
    pub seed: u64,
    /// Changes in order of time; until the first, the flow is active and its own fields apply.
    pub changes: Vec<FlowChange>,
    #[serde(flatten)]
    own: Map<String, Value>,
}

/// State of a flow from `at_ns` on. Only kinds whose rate or pauses can change have these fields.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowChange {
    pub at_ns: i64,
    pub active: bool,
    pub rate_bps: Option<u64>,
    pub think_ns: Option<i64>,
    pub think_distribution: Option<Distribution>,
}

/// Distribution of a quantity around its mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    Constant,
    Exponential,
    /// Heavy-tailed: Pareto of shape 1.2, whose variance is infinite; sizes of files on the Web have this distribution
    /// (Crovella, Bestavros 1997, IEEE/ACM ToN 5(6): shapes of 1.1 to 1.3).
    Pareto,
}

impl Flow {
    /// Parses the fields of the flow's kind.
    pub fn fields<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        serde_json::from_value(Value::Object(self.own.clone()))
            .with_context(|| format!("fields of the tool {}", self.tool))
    }
}

/// A program that tunes a node.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Tuner {
    pub node: String,
    pub program: Vec<String>,
}

/// A capture at one interface; `filter` in tcpdump's syntax.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Capture {
    pub link: String,
    pub node: String,
    pub interface: String,
    pub index: u32,
    pub snap: u32,
    pub filter: Option<String>,
}

/// A user's command in place of a network: its arguments, working directory and whole environment.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Exec {
    pub command: Vec<String>,
    pub directory: PathBuf,
    pub env: BTreeMap<String, String>,
    pub record: Recorded,
    pub rate_bps: Option<u64>,
    /// Quantiles of the time that a program takes to start; empty: programs start in no time.
    pub start_ns: Vec<u64>,
    /// Duration of a system call.
    pub syscall_ns: u64,
    /// Quantiles of how far CLOCK_REALTIME of a namespace is ahead; empty: all clocks are right.
    pub clock_off_ns: Vec<i64>,
    /// Whether computing takes the time that it takes on the host.
    pub compute: bool,
    /// The node in which the command starts, if there is a network.
    pub node: Option<String>,
    /// The command's standard input.
    pub input: Option<String>,
    /// Whether the command has an interactive terminal.
    pub terminal: bool,
    /// Speed of virtual time at that terminal, which the guard enforces.
    pub pace: Option<f64>,
}

/// What is recorded in a command's network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(rename_all = "lowercase")]
pub enum Recorded {
    None,
    Acks,
    Packets,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub struct Record {
    pub exact: bool,
    pub sample_ns: Option<i64>,
    pub captures: Vec<Capture>,
    /// Limit for each stream that a command prints, and for all files together that it leaves.
    pub kept_bytes: u64,
}

impl Record {
    /// Whether packets are recorded while the run lasts.
    pub fn needs_recorder(&self) -> bool {
        self.exact || !self.captures.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::ser::{Serialize, SerializeMap, Serializer};
    use serde_json::{Map, Value};

    /// A lab with every field, made from the Python model (`make generate`).
    const EXAMPLE: &str = include_str!("../testdata/lab.json");

    impl Serialize for Sysctls {
        fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(Some(self.0.len()))?;
            for (name, value) in &self.0 {
                map.serialize_entry(name, value)?;
            }
            map.end()
        }
    }

    fn example() -> Result<Value> {
        Ok(serde_json::from_str(EXAMPLE)?)
    }

    /// A lab is the same after it was read and written, so neither side has a field that the other lacks.
    #[test]
    fn python_and_rust_have_the_same_lab() -> Result<()> {
        let lab: Lab = serde_json::from_str(EXAMPLE)?;
        assert_eq!(lab.format, crate::constants::LAB_FORMAT);
        let mut python = example()?;
        // Only the flow's kind reads the fields beyond the common ones.
        python.as_object_mut().and_then(|lab| lab.remove("flows"));
        assert_eq!(serde_json::to_value(&lab)?, python);
        Ok(())
    }

    /// Adds a field to the object of the lab that has the number `wanted`.
    fn with_one_more(value: &Value, wanted: usize, seen: &mut usize) -> Value {
        match value {
            Value::Object(fields) => {
                let at = *seen;
                *seen += 1;
                let mut copy: Map<String, Value> = fields
                    .iter()
                    .map(|(name, value)| match name.as_str() {
                        // These hold any name: of a sysctl, a variable, a file or a parameter; a flow has the fields of
                        // its kind.
                        "sysctl" | "flows" | "env" | "files" | "parameters" => {
                            (name.clone(), value.clone())
                        }
                        _ => (name.clone(), with_one_more(value, wanted, seen)),
                    })
                    .collect();
                if at == wanted {
                    copy.insert("unheard_of".to_string(), Value::Null);
                }
                Value::Object(copy)
            }
            Value::Array(items) => items
                .iter()
                .map(|item| with_one_more(item, wanted, seen))
                .collect(),
            other => other.clone(),
        }
    }

    #[test]
    fn a_field_that_only_python_has_is_refused() -> Result<()> {
        let lab = example()?;
        let mut objects = 0;
        with_one_more(&lab, usize::MAX, &mut objects);
        assert!(objects > 30, "{objects}");
        for wanted in 0..objects {
            let more = with_one_more(&lab, wanted, &mut 0);
            let refused = serde_json::from_value::<Lab>(more).map_err(|e| e.to_string());
            assert!(
                refused.is_err_and(|e| e.contains("unknown field `unheard_of`")),
                "object {wanted}"
            );
        }
        Ok(())
    }
}
