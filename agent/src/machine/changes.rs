//! Copies the files that a command has changed below its directory out of the overlay.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

/// Limits on the number of files that are kept and their depth: a machine that makes files without end must not fill
/// the host.
const MAX_FILES: usize = 100_000;
const MAX_DEPTH: usize = 64;
/// Number of left-out files that are named.
const NAMED: usize = 20;

/// Result of keeping files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub files: usize,
    /// Names that are neither file nor directory, files for which there was no room left, and paths that are too deep.
    pub left_out: Vec<String>,
}

impl Kept {
    /// Facts about what was left out, for outcome.json: the number, and the first names.
    pub fn facts(&self) -> Map<String, Value> {
        let mut facts = Map::new();
        if !self.left_out.is_empty() {
            let named = self.left_out.len().min(NAMED);
            facts.insert("left_out".into(), json!(self.left_out[..named]));
            facts.insert("left_out_count".into(), json!(self.left_out.len()));
        }
        facts
    }
}

/// Copies files and directories under `from` to `to`, which is made if there are any, sorted by name and at most `room`
/// bytes in total: a file that does not fit into the rest is left out. A removed file is a device there (overlayfs'
/// whiteouts), and so is not kept; nor are links, pipes and sockets.
pub fn keep(from: &Path, to: &Path, mut room: u64) -> Result<Kept> {
    let mut kept = Kept::default();
    if from.is_dir() {
        copy(from, to, ("", 0), &mut room, &mut kept)?;
    }
    Ok(kept)
}

fn copy(
    from: &Path,
    to: &Path,
    (name, depth): (&str, usize),
    room: &mut u64,
    kept: &mut Kept,
) -> Result<()> {
    let mut entries = fs::read_dir(from)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let own = format!("{name}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        let target = to.join(entry.file_name());
        if kind.is_dir() && depth < MAX_DEPTH {
            let inside = (format!("{own}/"), depth + 1);
            copy(&entry.path(), &target, (&inside.0, inside.1), room, kept)?;
        } else if kind.is_file() && entry.metadata()?.len() <= *room {
            if kept.files == MAX_FILES {
                kept.left_out.push(own);
                return Ok(());
            }
            fs::create_dir_all(to)?;
            *room -= copy_file(&entry.path(), &target, *room)
                .with_context(|| format!("cannot keep {own}"))?;
            kept.files += 1;
        } else if !is_whiteout(&entry)? {
            kept.left_out.push(own);
        }
    }
    Ok(())
}

/// Copies a file. fs::copy() would also set the mode, which the host does not let the machine do.
fn copy_file(from: &Path, to: &Path, room: u64) -> Result<u64> {
    let mut source = File::open(from)?;
    let mut target = File::create(to)?;
    Ok(std::io::copy(&mut source.by_ref().take(room), &mut target)?)
}

fn is_whiteout(entry: &fs::DirEntry) -> Result<bool> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let about = entry.metadata()?;
    Ok(about.file_type().is_char_device() && about.rdev() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_kept_and_links_named() -> Result<()> {
        let place = std::env::temp_dir().join(format!("netwarp-changes-{}", std::process::id()));
        let (from, to) = (place.join("from"), place.join("to"));
        fs::create_dir_all(from.join("a/b"))?;
        fs::create_dir_all(from.join("empty"))?;
        fs::write(from.join("a/b/c"), "text")?;
        std::os::unix::fs::symlink("c", from.join("a/link"))?;
        fs::write(from.join("large"), "does not fit")?;
        let kept = keep(&from, &to, 10)?;
        let read = fs::read_to_string(to.join("a/b/c"))?;
        let empty = to.join("empty").exists();
        fs::remove_dir_all(&place)?;
        assert_eq!((read.as_str(), empty), ("text", false));
        assert_eq!(
            kept,
            Kept {
                files: 1,
                left_out: vec!["a/link".into(), "large".into()]
            }
        );
        Ok(())
    }

    #[test]
    fn nothing_changed_keeps_nothing() -> Result<()> {
        let nowhere = Path::new("/nonexistent/netwarp");
        assert_eq!(keep(nowhere, nowhere, 10)?, Kept::default());
        Ok(())
    }
}
