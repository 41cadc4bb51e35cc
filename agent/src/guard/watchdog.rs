//! Detects a program of the guest that computes without end. Nothing that it does affects the machine: a run that
//! continues is the same with and without it.

use std::time::{Duration, Instant};

/// How often it looks.
const STEP: Duration = Duration::from_secs(1);

/// CPU time of the kernel itself without a sign of life, after which it is asked where it is.
const BUSY: Duration = Duration::from_secs(2);

/// Looks at the kernel's process from outside. A program that makes no system call never wakes the kernel, which waits
/// for it: its count of voluntary context switches stands still, while the host's process of the program takes time.
pub struct Watchdog {
    pid: u32,
    /// CPU time of a program without a system call that is too long
    limit: Duration,
    looked: Instant,
    switches: Option<u64>,
    /// What the guest's programs had taken when the kernel last was awake
    since: Duration,
    /// What the kernel itself had taken when it last waited for a program, or recorded something
    kernel_since: Duration,
    life: (Option<u64>, u64),
}

impl Watchdog {
    pub fn new(pid: u32, limit: Duration) -> Self {
        Self {
            pid,
            limit,
            looked: Instant::now(),
            switches: None,
            since: Duration::ZERO,
            kernel_since: Duration::ZERO,
            life: (None, 0),
        }
    }

    /// Whether it is time to look again.
    pub fn is_due(&mut self) -> bool {
        let due = self.looked.elapsed() >= STEP;
        if due {
            self.looked = Instant::now();
        }
        due
    }

    /// Whether the kernel itself has computed for too long without a sign of life: it has neither waited for a program
    /// nor recorded an event. It may have much to do all the same: see `stands_still` of the guard.
    pub fn sees_busy_kernel(&mut self, events: u64) -> bool {
        let Some(taken) = taken_by(&self.pid.to_string()) else {
            return false;
        };
        let life = (voluntary_switches(self.pid), events);
        if self.life != life {
            self.life = life;
            self.kernel_since = taken;
        }
        let busy = taken.saturating_sub(self.kernel_since) >= BUSY;
        if busy {
            self.kernel_since = taken;
        }
        busy
    }

    /// Whether a program has computed for too long.
    pub fn sees_endless(&mut self) -> bool {
        let Some((switches, taken)) = voluntary_switches(self.pid).zip(taken_by_children(self.pid))
        else {
            return false;
        };
        if self.switches != Some(switches) {
            self.switches = Some(switches);
            self.since = taken;
        }
        taken.saturating_sub(self.since) >= self.limit
    }
}

fn voluntary_switches(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}

/// CPU time of all processes whose parent this is; which belong to programs of the guest.
fn taken_by_children(pid: u32) -> Option<Duration> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    Some(children.split_whitespace().filter_map(taken_by).sum())
}

/// CPU time of a process: utime and stime of proc(5), in ticks.
fn taken_by(pid: &str) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
    Some(Duration::from_secs_f64(ticks as f64 / ticks_per_second()))
}

fn ticks_per_second() -> f64 {
    // SAFETY: sysconf takes a number and touches no memory.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// A process waits for a child that computes (sh for its last command), and one for a child that sleeps.
    fn endless(script: &str, patience: Duration) -> bool {
        let parent = Command::new("sh")
            .args(["-c", script])
            .stdout(Stdio::null())
            .spawn();
        let Ok(mut parent) = parent else {
            return false;
        };
        let mut watchdog = Watchdog::new(parent.id(), Duration::from_millis(500));
        let begin = Instant::now();
        let mut seen = false;
        while !seen && begin.elapsed() < patience {
            std::thread::sleep(Duration::from_millis(100));
            seen = watchdog.is_due() && watchdog.sees_endless();
        }
        for child in std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", parent.id()))
            .unwrap_or_default()
            .split_whitespace()
        {
            let _ = Command::new("kill").arg(child).status();
        }
        let _ = parent.kill();
        let _ = parent.wait();
        seen
    }

    #[test]
    fn a_child_that_computes_is_seen() {
        // On a busy machine half a second of CPU time takes long.
        let patience = Duration::from_secs(120);
        assert!(endless("sh -c 'while :; do :; done'; :", patience));
    }

    #[test]
    fn a_child_that_sleeps_is_not() {
        assert!(!endless("sleep 10; :", Duration::from_secs(4)));
    }
}
