//! `sysctls.arrows`: sysctls of the nodes that programs tune, and their changes. A file of /proc/sys that stays open
//! shows the present value at every read (proc_sys_read()).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::Result;

use crate::lab::Lab;
use crate::network::Network;
use netwarp_records::table::Batch;
use netwarp_records::tables::sysctls;

/// Directories of settings that belong to a network namespace or to the memory of its sockets.
const PLACES: [&str; 2] = ["net/core", "net/ipv4"];
/// Shortest time between two samples.
const STEP_NS: i64 = 100_000_000;
/// Maximum length of a value that is kept.
const VALUE_BYTES: usize = 256;

/// Samples of settings.
pub struct Sysctls {
    settings: Vec<Setting>,
    table: Batch<sysctls::Rows>,
    next_ns: i64,
}

struct Setting {
    node: String,
    name: String,
    file: File,
    value: Option<String>,
}

impl Sysctls {
    pub fn open(network: &Network, lab: &Lab, dir: &Path) -> Result<Self> {
        let mut settings = Vec::new();
        for tuner in &lab.tuners {
            let found = network.node(&tuner.node)?.run(|| of_node(&tuner.node))?;
            settings.extend(found);
        }
        Ok(Self {
            settings,
            table: Batch::create(dir)?,
            next_ns: 0,
        })
    }

    pub fn sample(&mut self, time_ns: i64, last: bool) -> Result<()> {
        if time_ns < self.next_ns && !last {
            return Ok(());
        }
        self.next_ns = time_ns + STEP_NS;
        for setting in &mut self.settings {
            let value = read(&setting.file);
            if value != setting.value {
                if let Some(value) = &value {
                    self.table.push(sysctls::Row {
                        time_ns,
                        node: &setting.node,
                        name: &setting.name,
                        value,
                    })?;
                }
                setting.value = value;
            }
        }
        Ok(())
    }

    pub fn finish(&mut self) -> Result<()> {
        self.table.finish()
    }
}

/// Lists every readable setting of this thread's namespace, by name.
fn of_node(node: &str) -> Vec<Setting> {
    let mut settings = Vec::new();
    for place in PLACES {
        let directory = Path::new("/proc/sys").join(place);
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let Some(file) = is_file.then(|| File::open(entry.path()).ok()).flatten() else {
                continue;
            };
            let name = format!("{place}/{}", entry.file_name().to_string_lossy()).replace('/', ".");
            // Some can be opened by all users but not read, and some are drawn again at each read.
            if read(&file).is_some() && !name.ends_with("_key") {
                settings.push(Setting {
                    node: node.to_string(),
                    name,
                    file,
                    value: None,
                });
            }
        }
    }
    settings.sort_by(|a, b| a.name.cmp(&b.name));
    settings
}

fn read(file: &File) -> Option<String> {
    let mut bytes = [0; VALUE_BYTES];
    let got = file.read_at(&mut bytes, 0).ok()?;
    let text = String::from_utf8_lossy(bytes.get(..got)?).into_owned();
    Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
}
