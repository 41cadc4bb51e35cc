//! The program `netwarp-observe`: the commands `netwarp watch` and `netwarp pcap`.

use std::process::ExitCode;

fn main() -> ExitCode {
    netwarp_observe::main()
}
