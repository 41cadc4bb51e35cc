//! Captures as pcap files with nanoseconds (magic 0xa1b23c4d), in the run's clock.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

use super::layout::Capture;

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const LINKTYPE_ETHERNET: u32 = 1;
const MAX_SNAP: u32 = 65_535;

/// The files, in the order of the lab's captures.
pub struct Captures {
    files: Vec<BufWriter<File>>,
}

impl Captures {
    /// Creates `captures/NAME.pcap` for every name.
    pub fn create(dir: &Path, names: &[String]) -> Result<Self> {
        let mut files = Vec::new();
        for name in names {
            let path = dir.join("captures").join(format!("{name}.pcap"));
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
            }
            let mut file = BufWriter::new(
                File::create(&path).with_context(|| format!("cannot create {}", path.display()))?,
            );
            for word in [
                MAGIC_NANOSECONDS,
                2 | (4 << 16),
                0,
                0,
                MAX_SNAP,
                LINKTYPE_ETHERNET,
            ] {
                file.write_all(&word.to_le_bytes())?;
            }
            files.push(file);
        }
        Ok(Self { files })
    }

    /// One from before t0 has no time that pcap could hold.
    pub fn push(&mut self, capture: &Capture, time_ns: i64) -> Result<()> {
        let (Some(file), Ok(time_ns)) = (
            self.files.get_mut(capture.id() as usize),
            u64::try_from(time_ns),
        ) else {
            return Ok(());
        };
        let (len, caplen) = (capture.len(), capture.caplen());
        let words = [
            (time_ns / 1_000_000_000) as u32,
            (time_ns % 1_000_000_000) as u32,
            caplen,
            len,
        ];
        for word in words {
            file.write_all(&word.to_le_bytes())?;
        }
        let bytes = capture.rest().get(..caplen as usize);
        file.write_all(bytes.unwrap_or_default()).context("capture")
    }

    pub fn finish(self) -> Result<()> {
        for mut file in self.files {
            file.flush().context("capture")?;
        }
        Ok(())
    }
}
