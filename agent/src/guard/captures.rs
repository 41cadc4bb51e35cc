//! Captures as pcap files with nanoseconds (magic 0xa1b23c4d), in the run's clock.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

use super::events::Fields;

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const LINKTYPE_ETHERNET: u32 = 1;
const SNAP_MOST: u32 = 65_535;
/// sizeof(struct netwarp_capture)
pub const HEAD: usize = 24;

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
                SNAP_MOST,
                LINKTYPE_ETHERNET,
            ] {
                file.write_all(&word.to_le_bytes())?;
            }
            files.push(file);
        }
        Ok(Self { files })
    }

    /// struct netwarp_capture and the packet's bytes. One from before t0 has no time that pcap could hold.
    pub fn push(&mut self, record: &Fields, time_ns: i64) -> Result<()> {
        let (Some(file), Ok(time_ns)) = (
            self.files.get_mut(record.u32(4) as usize),
            u64::try_from(time_ns),
        ) else {
            return Ok(());
        };
        let (len, caplen) = (record.u32(16), record.u32(20));
        let words = [
            (time_ns / 1_000_000_000) as u32,
            (time_ns % 1_000_000_000) as u32,
            caplen,
            len,
        ];
        for word in words {
            file.write_all(&word.to_le_bytes())?;
        }
        file.write_all(record.slice(HEAD, caplen as usize))
            .context("capture")
    }

    pub fn finish(self) -> Result<()> {
        for mut file in self.files {
            file.flush().context("capture")?;
        }
        Ok(())
    }
}
