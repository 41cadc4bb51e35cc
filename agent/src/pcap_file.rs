//! Captures as pcap files with nanoseconds (magic 0xa1b23c4d), in the run's clock.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const LINKTYPE_ETHERNET: u32 = 1;
/// Maximum number of bytes that are kept of a packet.
pub const MAX_SNAP: u32 = 65_535;

/// A capture that is being written.
pub struct PcapFile {
    file: BufWriter<File>,
}

impl PcapFile {
    /// Creates `captures/NAME.pcap` in the run directory.
    pub fn create(dir: &Path, name: &str) -> Result<Self> {
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
        Ok(Self { file })
    }

    /// Appends a packet of `len` bytes, of which these were kept. A packet from before the clock's 0 is left out, since
    /// pcap has no negative times.
    pub fn push(&mut self, time_ns: i64, len: u32, kept: &[u8]) -> Result<()> {
        let Ok(time_ns) = u64::try_from(time_ns) else {
            return Ok(());
        };
        let words = [
            (time_ns / 1_000_000_000) as u32,
            (time_ns % 1_000_000_000) as u32,
            kept.len() as u32,
            len,
        ];
        for word in words {
            self.file.write_all(&word.to_le_bytes())?;
        }
        self.file.write_all(kept).context("capture")
    }

    /// Writes all buffered bytes to the file system.
    pub fn finish(mut self) -> Result<()> {
        self.file.flush().context("capture")
    }
}
