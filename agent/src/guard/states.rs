//! `variables.arrows` and `states.arrows`: internal state of congestion controls that export it.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::layout::{State, Variable};
use netwarp_records::table::Batch;
use netwarp_records::tables::{states, variables};

/// Made with the first variable, since most runs have none.
pub struct States {
    dir: PathBuf,
    tables: Option<(Batch<variables::Rows>, Batch<states::Rows>)>,
}

impl States {
    pub fn new(dir: &Path) -> Self {
        Self {
            dir: dir.into(),
            tables: None,
        }
    }

    /// Adds a variable, before its first value.
    pub fn name(&mut self, variable: &Variable) -> Result<()> {
        if self.tables.is_none() {
            self.tables = Some((Batch::create(&self.dir)?, Batch::create(&self.dir)?));
        }
        let Some((names, _)) = &mut self.tables else {
            return Ok(());
        };
        names.push(variables::Row {
            variable_id: variable.id(),
            control: &text(variable.control()),
            name: &text(variable.name()),
        })
    }

    /// Adds the values of all variables of one congestion control, after an ACK.
    pub fn push(&mut self, state: &State, time_ns: i64, tuple_id: u32) -> Result<()> {
        let Some((_, table)) = &mut self.tables else {
            return Ok(());
        };
        let (values, _) = state.rest().as_chunks::<8>();
        for (variable_id, value) in (state.first()..).zip(values) {
            table.push(states::Row {
                time_ns,
                tuple_id,
                variable_id,
                value: i64::from_le_bytes(*value),
            })?;
        }
        Ok(())
    }

    pub fn finish(self) -> Result<()> {
        match self.tables {
            Some((mut names, mut values)) => names.finish().and_then(|()| values.finish()),
            None => Ok(()),
        }
    }
}

/// Reads a C string, up to its NUL.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}
