//! Programs that tune nodes, such as bpftune: started before the flows, alive to the end of the run.

use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};

use anyhow::{Context, Result, bail};

use crate::backend::Costs;
use crate::lab::Lab;
use crate::machine::program::{self, describe_end};
use crate::network::Network;

/// The programs of a run.
pub struct Tuners {
    running: Vec<Tuner>,
}

struct Tuner {
    node: String,
    words: String,
    child: Child,
    out: PathBuf,
}

impl Tuners {
    /// Starts each program in the namespace of its node, with its output in the run directory.
    pub fn start(network: &Network, lab: &Lab, dir: &Path) -> Result<Self> {
        let mut running = Vec::new();
        for tuner in &lab.tuners {
            let out = dir.join(format!("tuner-{}.out", tuner.node));
            let backend = network.backend;
            backend.name_randomness(&format!("tuner {}", tuner.node))?;
            let node = network.node(&tuner.node)?;
            let child = node
                .run(|| {
                    let errors = program::errors_of(&out);
                    let work_dir = backend.work_dir();
                    let place = program::Place {
                        directory: &work_dir,
                        temporary: &work_dir,
                        root: None,
                        rules: backend.program_rules(),
                    };
                    backend.taking_time(&Costs::of_calls(node.syscall_ns()), &mut || {
                        program::start(&tuner.program, &place, &out, &errors)
                    })
                })?
                .with_context(|| format!("tuner of {}", tuner.node))?;
            running.push(Tuner {
                node: tuner.node.clone(),
                words: tuner.program.join(" "),
                child,
                out,
            });
        }
        Ok(Self { running })
    }

    /// Fails if a program has ended, since its node has not been tuned from then on.
    pub fn check(&mut self, when: &str) -> Result<()> {
        for tuner in &mut self.running {
            if let Some(status) = tuner.child.try_wait()? {
                bail!("{}", tuner.end(status, when));
            }
        }
        Ok(())
    }

    /// Ends all programs.
    pub fn stop(&mut self) {
        for tuner in &mut self.running {
            program::end(&mut tuner.child);
        }
    }
}

impl Tuner {
    fn end(&self, status: ExitStatus, when: &str) -> String {
        format!(
            "the tuner `{}` of {} ended {when}: {}; it must run in the foreground to the end of the run",
            self.words,
            self.node,
            describe_end(status, &self.out)
        )
    }
}
