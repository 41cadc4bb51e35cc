//! Descriptions of the programs that a command has left running.

use std::fs;

use anyhow::Result;

/// Maximum number of programs that are named; a longer command line is cut at its end.
const NAMED: usize = 5;
const LONGEST: usize = 60;

/// The command lines of running programs with their process ids, sorted by these, then the number of further ones. Pid
/// 1 and kernel threads, which have no command line, are left out.
pub fn running() -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        // A program that ends meanwhile is skipped.
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        if pid != 1 && !line.is_empty() {
            found.push((pid, words(&line)));
        }
    }
    found.sort();
    let more = found.len().saturating_sub(NAMED);
    let named = found.into_iter().take(NAMED);
    let mut lines: Vec<_> = named
        .map(|(pid, line)| format!("`{line}` (pid {pid})"))
        .collect();
    if more > 0 {
        lines.push(format!("{more} more"));
    }
    Ok(lines)
}

/// Converts arguments, each ended by a NUL, to one line.
fn words(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let words: String = text.trim_end_matches('\0').replace(['\0', '\n'], " ");
    match words.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}
