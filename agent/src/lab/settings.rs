//! Settings of a lab's node, in their order.

use std::fmt::Formatter;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Names and values in the order in which they are given: some sysctls write others.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Settings(pub Vec<(String, String)>);

impl Settings {
    /// The value of this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Settings;

            fn expecting(&self, f: &mut Formatter) -> std::fmt::Result {
                f.write_str("values by name")
            }

            fn visit_map<M: MapAccess<'de>>(
                self,
                mut map: M,
            ) -> std::result::Result<Settings, M::Error> {
                let mut settings = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    settings.push(entry);
                }
                Ok(Settings(settings))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
