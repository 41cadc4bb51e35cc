//! Captures of the machine's kernel, one file each.

use std::path::Path;

use anyhow::Result;

use super::layout::Capture;
use crate::pcap_file::PcapFile;

/// The files, in the order of the lab's captures.
pub struct Captures {
    files: Vec<PcapFile>,
}

impl Captures {
    /// Creates a file for each name.
    pub fn create(dir: &Path, names: &[String]) -> Result<Self> {
        let files = names.iter().map(|name| PcapFile::create(dir, name));
        Ok(Self {
            files: files.collect::<Result<_>>()?,
        })
    }

    pub fn push(&mut self, capture: &Capture, time_ns: i64) -> Result<()> {
        let Some(file) = self.files.get_mut(capture.id() as usize) else {
            return Ok(());
        };
        let kept = capture.rest().get(..capture.caplen() as usize);
        file.push(time_ns, capture.len(), kept.unwrap_or_default())
    }

    pub fn finish(self) -> Result<()> {
        self.files.into_iter().try_for_each(PcapFile::finish)
    }
}
