//! Copies what a command has changed below its directory out of the overlay.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result};

use super::program::MAX_FILE_BYTES;

/// How many files are kept, and how deep they lie: a machine that makes them without end must not fill the host.
const MAX_FILES: usize = 100_000;
const MAX_DEPTH: usize = 64;

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub files: usize,
    /// Names of what is no file or directory, of files that are too large, and of what is too deep.
    pub left_out: Vec<String>,
}

/// Copies files and directories beneath `from` to `to`, which is made if there are any. What has been removed is a
/// device there (overlayfs' whiteouts), and so is not kept; nor are links, pipes and sockets.
pub fn keep(from: &Path, to: &Path) -> Result<Kept> {
    let mut kept = Kept::default();
    if from.is_dir() {
        copy(from, to, "", 0, &mut kept)?;
    }
    Ok(kept)
}

fn copy(from: &Path, to: &Path, name: &str, depth: usize, kept: &mut Kept) -> Result<()> {
    let mut entries = fs::read_dir(from)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let own = format!("{name}{}", entry.file_name().to_string_lossy());
        let kind = entry.file_type()?;
        let target = to.join(entry.file_name());
        if kind.is_dir() && depth < MAX_DEPTH {
            copy(&entry.path(), &target, &format!("{own}/"), depth + 1, kept)?;
        } else if kind.is_file() && entry.metadata()?.len() <= MAX_FILE_BYTES {
            if kept.files == MAX_FILES {
                kept.left_out.push(own);
                return Ok(());
            }
            fs::create_dir_all(to)?;
            copy_file(&entry.path(), &target).with_context(|| format!("cannot keep {own}"))?;
            kept.files += 1;
        } else if !is_whiteout(&entry)? {
            kept.left_out.push(own);
        }
    }
    Ok(())
}

/// fs::copy() would take over the mode, which the host does not let the machine set.
fn copy_file(from: &Path, to: &Path) -> Result<()> {
    let mut source = File::open(from)?;
    let mut target = File::create(to)?;
    std::io::copy(&mut source.by_ref().take(MAX_FILE_BYTES), &mut target)?;
    Ok(())
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
        let kept = keep(&from, &to)?;
        let read = fs::read_to_string(to.join("a/b/c"))?;
        let empty = to.join("empty").exists();
        fs::remove_dir_all(&place)?;
        assert_eq!((read.as_str(), empty), ("text", false));
        assert_eq!(
            kept,
            Kept {
                files: 1,
                left_out: vec!["a/link".into()]
            }
        );
        Ok(())
    }

    #[test]
    fn nothing_changed_keeps_nothing() -> Result<()> {
        let nowhere = Path::new("/nonexistent/netwarp");
        assert_eq!(keep(nowhere, nowhere)?, Kept::default());
        Ok(())
    }
}
