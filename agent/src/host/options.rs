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
    /// The process of netwarp whose run it is, for those who look for runs that have been left
    #[arg(long)]
    pub client: u32,
    /// Seconds after which the run is killed
    #[arg(long)]
    pub time_limit: f64,
    /// What programs of the lab may read, directories with all that is in them, beside what is the lab's own
    #[arg(long)]
    pub read: Vec<PathBuf>,
    /// PATH of every program in the lab
    #[arg(long)]
    pub search_path: String,
    /// Where tc's tables of distributions and its plug-ins lie
    #[arg(long)]
    pub tc_directory: Option<PathBuf>,
}
