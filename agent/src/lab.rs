//! The resolved lab, which netwarp writes to `run.json`. Nothing is decided here: every address, index, port, queue and
//! start time is in it. Unknown fields are errors, so that an old agent never runs half of a new lab. Its types are
//! generated from the Python model; their methods are here.

mod objects;
mod settings;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use objects::*;
pub use settings::Settings;

/// `run.json`, of which the agent needs only the lab.
#[derive(Debug, Deserialize)]
pub struct RunFile {
    pub lab: Lab,
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

    /// Whether the interface is an end of a link that is a device.
    pub fn is_device(&self, index: u32) -> bool {
        let mut devices = self.links.iter().filter(|link| link.device);
        devices.any(|link| link.ends.iter().any(|end| end.index == index))
    }

    /// The ends of links at which this machine records packets: those of its nodes, and those that send to them from
    /// other parts, since what is lost on arrival was theirs.
    pub fn recorded_ends(&self) -> impl Iterator<Item = &End> {
        let own = self.parts.as_ref().map(|parts| parts.own);
        let is_own = move |end: &&End| {
            own.is_none() || self.part_of(&end.node) == own || self.part_beyond(end) == own
        };
        self.links.iter().flat_map(|link| &link.ends).filter(is_own)
    }

    /// Whether this machine runs the node, rather than only building it.
    pub fn runs(&self, node: &Node) -> bool {
        (self.parts.as_ref()).is_none_or(|parts| parts.own == node.part)
    }

    /// The part of the network that a node belongs to.
    pub fn part_of(&self, node: &str) -> Option<u32> {
        let found = self.nodes.iter().find(|one| one.name == node);
        found.map(|one| one.part)
    }

    /// The part in which the other end of a link is, if this machine runs only one of its two nodes.
    pub fn part_beyond(&self, end: &End) -> Option<u32> {
        // First, since a search for each end would take too long in a network of a thousand nodes.
        let own = self.parts.as_ref()?.own;
        let (_, peer) = self.ends(end.index).ok()?;
        let here = self.part_of(&end.node)?;
        let beyond = self.part_of(&peer.node)?;
        (here != beyond && [here, beyond].contains(&own)).then_some(beyond)
    }

    /// The end with this interface.
    pub fn end(&self, index: u32) -> Result<&End> {
        self.ends(index).map(|(own, _)| own)
    }
}

impl Flow {
    /// Parses the fields of the flow's kind.
    pub fn fields<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        serde_json::from_value(Value::Object(self.own.clone()))
            .with_context(|| format!("fields of the tool {}", self.tool))
    }
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

    impl Serialize for Settings {
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
        assert_eq!(serde_json::to_value(&lab)?, example()?);
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
