//! The program `netwarp-agent`.

use std::process::ExitCode;

fn main() -> ExitCode {
    netwarp_agent::main()
}
