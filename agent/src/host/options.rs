//! The command line of the engine `host`.

use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Options {
    /// The run directory, with run.json in it
    #[arg(long)]
    pub dir: PathBuf,
    /// The run's name, which its processes and namespaces carry
    #[arg(long)]
    pub run: String,
    /// Process id of the netwarp that owns the run, for finding runs that have been left
    #[arg(long)]
    pub client: u32,
    /// Seconds after which the run is killed
    #[arg(long)]
    pub time_limit: f64,
    /// Paths that programs of the lab may read in addition to the lab's own files, directories with everything in them
    #[arg(long)]
    pub read: Vec<PathBuf>,
    /// PATH of every program in the lab
    #[arg(long)]
    pub search_path: String,
    /// The directory of the programs that the agent itself runs in a lab
    #[arg(long)]
    pub tools: PathBuf,
}
