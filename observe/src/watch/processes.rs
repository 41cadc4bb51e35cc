//! Finds which process holds which socket, from the links in /proc/PID/fd: of all processes for root, of the user's own
//! for others.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use netwarp_records::sockets::Process;

/// Shortest time between two searches through all processes, which take long.
const AGAIN: Duration = Duration::from_secs(1);

/// Maps the inode of a socket to a process, the first that was found (several may share a socket).
#[derive(Default)]
pub struct Processes {
    known: FxHashMap<u32, Arc<Process>>,
    looked: Option<Instant>,
}

impl Processes {
    /// Finds the process that holds a socket; searches for it if the socket is new.
    pub fn find(&mut self, inode: u32) -> Option<Arc<Process>> {
        if inode == 0 {
            return None; // an orphan: its process has closed it
        }
        if !self.known.contains_key(&inode) && self.looked.is_none_or(|t| t.elapsed() >= AGAIN) {
            self.looked = Some(Instant::now());
            self.known = look();
        }
        self.known.get(&inode).cloned()
    }
}

fn look() -> FxHashMap<u32, Arc<Process>> {
    let mut found = FxHashMap::default();
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|n| n.parse().ok()) else {
            continue;
        };
        let mut holder = None;
        let Ok(files) = std::fs::read_dir(process.path().join("fd")) else {
            continue;
        };
        for file in files.flatten() {
            let Some(inode) = std::fs::read_link(file.path())
                .ok()
                .and_then(|link| socket_inode(link.to_str()?))
            else {
                continue;
            };
            let holder = holder.get_or_insert_with(|| {
                let text = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
                let name = text.trim_end().to_string();
                Arc::new(Process { name, pid })
            });
            found.entry(inode).or_insert_with(|| Arc::clone(holder));
        }
    }
    found
}

fn socket_inode(link: &str) -> Option<u32> {
    link.strip_prefix("socket:[")?
        .strip_suffix(']')?
        .parse()
        .ok()
}
