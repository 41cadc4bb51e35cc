//! The command line of the guard.

use std::os::fd::RawFd;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Options {
    /// The User Mode Linux kernel
    #[arg(long)]
    pub kernel: PathBuf,
    /// The run directory, with run.json in it
    #[arg(long)]
    pub dir: PathBuf,
    /// An empty directory of this machine alone for its memory file, unlinked: must allow execution
    #[arg(long)]
    pub memory_dir: PathBuf,
    /// Paths that the machine may read in addition to its own files, directories with everything in them
    #[arg(long)]
    pub read: Vec<PathBuf>,
    /// Memory of the machine in bytes
    #[arg(long)]
    pub memory: u64,
    /// The kernel tracks all addresses (KASAN), which takes so much private memory that this cannot be limited
    #[arg(long)]
    pub shadow: bool,
    /// Seed of every random number in the machine
    #[arg(long)]
    pub seed: u64,
    /// CPU to run on
    #[arg(long)]
    pub cpu: Option<usize>,
    /// Seconds of its own time after which the run is killed: see `OwnTime`
    #[arg(long)]
    pub time_limit: f64,
    /// Start of the run's clock, in nanoseconds since the machine's boot
    #[arg(long)]
    pub t0: i64,
    /// PATH of every program in the lab
    #[arg(long)]
    pub search_path: String,
    /// The directory of the programs that the agent itself runs in a lab
    #[arg(long)]
    pub tools: PathBuf,
    /// Keep what the machine's command prints
    #[arg(long)]
    pub output: bool,
    /// Keep at most this much of each of its streams, in bytes
    #[arg(long, default_value_t = u64::MAX)]
    pub kept_bytes: u64,
    /// A descriptor of this process to which its output is copied
    #[arg(long)]
    pub live_out: Option<RawFd>,
    /// A descriptor of this process to which its errors are copied
    #[arg(long)]
    pub live_err: Option<RawFd>,
    /// A descriptor of this process, a terminal in raw mode, whose keys the machine's command gets
    #[arg(long)]
    pub keyboard: Option<RawFd>,
    /// With a keyboard: the most seconds of the machine's time in one of real time
    #[arg(long)]
    pub pace: Option<f64>,
    /// A descriptor of this process for each program of the host that decides a congestion control
    #[arg(long = "program")]
    pub programs: Vec<RawFd>,
    /// Joins the machine to those of the network's other parts (netwarp_join() in arch/um/os-Linux/netwarp.c): the
    /// descriptor of this process whose memory they share, and five numbers
    #[arg(long)]
    pub join: Option<String>,
    /// Write exact records
    #[arg(long)]
    pub exact: bool,
    /// Name of a capture's file, in the order of the lab's captures
    #[arg(long = "capture")]
    pub captures: Vec<String>,
}

impl Options {
    /// Whether the kernel writes records at all.
    pub fn records(&self) -> bool {
        self.exact || !self.captures.is_empty()
    }
}
