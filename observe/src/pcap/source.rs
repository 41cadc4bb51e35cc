//! A capture file, read in large pieces into one buffer. It is not mapped: a file that is truncated while it is read
//! would end the program, and pipes could not be read.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use netwarp_capture::file::{Damage, Frame, MAGIC_BYTES, MAX_STEP_BYTES, Reader, Step};

const BUFFER_BYTES: usize = 1 << 20;
/// A file whose holes are larger than its content is refused, as in `store/files.py`: zeros are empty frames, and
/// reading a terabyte of them would take hours.
const SPARSE_BYTES: u64 = 1 << 30;
const SPARSE_SHARE: u64 = 1000;
const BLOCK_BYTES: u64 = 512;
const _: () = assert!(BUFFER_BYTES >= 2 * MAX_STEP_BYTES);

/// How a file ended.
#[derive(Debug)]
pub enum End {
    /// After a whole frame
    Whole,
    /// Within a frame, with this many bytes left
    Cut { bytes: usize },
    /// It cannot be read from this byte on
    Damaged { at: u64, why: Damage },
}

fn refuse_sparse(facts: &Metadata) -> Result<()> {
    let held = facts.blocks() * BLOCK_BYTES;
    if facts.is_file()
        && facts.len() > SPARSE_BYTES
        && held.saturating_mul(SPARSE_SHARE) < facts.len()
    {
        bail!(
            "it claims {} bytes and holds {held}; it is damaged",
            facts.len()
        );
    }
    Ok(())
}

/// An open capture.
pub struct Source {
    file: Box<dyn Read>,
    reader: Reader,
    buffer: Vec<u8>,
    /// Start of the unused part of the buffer
    begin: usize,
    end: usize,
    /// Position of the buffer's first byte in the file
    offset: u64,
}

impl Source {
    /// Opens a file, or standard input for `-`, and determines the kind of capture.
    pub fn open(path: &Path) -> Result<Self> {
        let file: Box<dyn Read> = if path == Path::new("-") {
            Box::new(io::stdin().lock())
        } else {
            if path.is_dir() {
                bail!("this is a directory, not a capture");
            }
            let file = File::open(path).context("cannot open it")?;
            refuse_sparse(&file.metadata()?)?;
            Box::new(file)
        };
        let mut source = Self {
            file,
            reader: Reader::none(),
            buffer: vec![0; BUFFER_BYTES],
            begin: 0,
            end: 0,
            offset: 0,
        };
        source.fill(MAGIC_BYTES)?;
        let (reader, used) = Reader::open(source.rest())?;
        source.reader = reader;
        source.begin += used;
        Ok(source)
    }

    /// Calls `take` with each frame, to the end of the file or to where it is damaged.
    pub fn each(&mut self, mut take: impl FnMut(&Frame<'_>) -> Result<()>) -> Result<End> {
        loop {
            let rest = self.buffer.get(self.begin..self.end).unwrap_or(&[]);
            match self.reader.step(rest) {
                Ok(Step::Frame(frame, used)) => {
                    take(&frame)?;
                    self.begin += used;
                }
                Ok(Step::Skip(bytes)) => {
                    if !self.skip(bytes)? {
                        return Ok(End::Cut { bytes: 0 });
                    }
                }
                Ok(Step::More(wanted)) => {
                    if !self.fill(wanted)? {
                        let bytes = self.end - self.begin;
                        return Ok(if bytes == 0 {
                            End::Whole
                        } else {
                            End::Cut { bytes }
                        });
                    }
                }
                Err(why) => {
                    let at = self.offset + self.begin as u64;
                    return Ok(End::Damaged { at, why });
                }
            }
        }
    }

    fn rest(&self) -> &[u8] {
        self.buffer.get(self.begin..self.end).unwrap_or(&[])
    }

    /// Reads until `wanted` bytes are in the buffer. Returns whether there are that many.
    fn fill(&mut self, wanted: usize) -> Result<bool> {
        self.buffer.copy_within(self.begin..self.end, 0);
        self.offset += self.begin as u64;
        self.end -= self.begin;
        self.begin = 0;
        while self.end < wanted {
            let space = self.buffer.get_mut(self.end..).unwrap_or(&mut []);
            match self.file.read(space) {
                Ok(0) => return Ok(false),
                Ok(bytes) => self.end += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("cannot read it"),
            }
        }
        Ok(true)
    }

    /// Skips bytes. Returns whether there are that many.
    fn skip(&mut self, bytes: u64) -> Result<bool> {
        let mut left = bytes;
        loop {
            let here = left.min((self.end - self.begin) as u64);
            self.begin += here as usize;
            left -= here;
            if left == 0 {
                return Ok(true);
            }
            if !self.fill(1)? {
                return Ok(false);
            }
        }
    }
}
