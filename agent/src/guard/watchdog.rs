//! Detects a program of the guest that computes without end. It does not affect the machine: a run that continues is
//! the same with and without it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use nix::sys::resource::UsageWho;

use super::machine::computed;

/// Interval of the checks.
const STEP: Duration = Duration::from_secs(1);

/// CPU time of the kernel itself without a sign of life, after which the kernel is asked where it is.
const BUSY: Duration = Duration::from_secs(2);

/// Observes the kernel's process from outside. A program that makes no system call never wakes the kernel, which waits
/// for it: the kernel's count of voluntary context switches stands still, while the program's process on the host takes
/// time.
pub struct Watchdog {
    pid: u32,
    /// CPU time without a system call that is too long
    limit: Duration,
    looked: Instant,
    switches: Option<u64>,
    /// CPU time of the guest's programs when the kernel was last awake
    since: Duration,
    /// CPU time of the kernel itself when it last waited for a program or recorded something
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

    /// Whether the next check is due.
    pub fn is_due(&mut self) -> bool {
        let due = self.looked.elapsed() >= STEP;
        if due {
            self.looked = Instant::now();
        }
        due
    }

    /// Whether the kernel itself has computed for too long without a sign of life: it has neither waited for a program
    /// nor recorded an event. It may still just be busy: see `stands_still` of the guard.
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

/// Interval of measuring a machine's own time, unless its limit is short. The second of two measurements decides how
/// the time between them counts.
const LOOK: Duration = Duration::from_millis(100);
/// Longest interval between two measurements, as a divisor of the limit.
const LOOK_PART: u32 = 100;
/// Interval of searching all processes of the host for those of a machine.
const SEARCH: Duration = Duration::from_secs(1);
/// Minimum pause after a measurement or a search, as a multiple of its duration: a machine with many processes must not
/// keep the guard busy.
const LOOK_PAUSE: u32 = 20;
const SEARCH_PAUSE: u32 = 100;
/// Upper bound of the pause, which matters on a host with many processes.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A run's own time, which its limit bounds: the time in which machine and guard computed, and the time in which the
/// machine slept although it could have had a processor. Time that a busy host withheld does not count; while a machine
/// stands still, all time counts.
pub struct OwnTime {
    group: Group,
    look: Duration,
    pause: Duration,
    looked: Instant,
    computed: Duration,
    kept_waiting: Duration,
    own: Duration,
}

impl OwnTime {
    pub fn new(pid: u32, limit: Duration) -> Self {
        let look = LOOK.min(limit / LOOK_PART);
        Self {
            group: Group::of(pid),
            look,
            pause: look,
            looked: Instant::now(),
            computed: Duration::ZERO,
            kept_waiting: Duration::ZERO,
            own: Duration::ZERO,
        }
    }

    /// Returns the own time so far.
    pub fn taken(&mut self) -> Duration {
        let passed = self.looked.elapsed();
        if passed < self.pause {
            return self.own;
        }
        let begin = Instant::now();
        let processes = self.group.processes();
        let pause = begin.elapsed().saturating_mul(LOOK_PAUSE);
        self.pause = pause.clamp(self.look, self.look.max(SEARCH));
        let computed = computed(UsageWho::RUSAGE_SELF).unwrap_or_default()
            + processes.iter().map(|p| p.computed).sum();
        let kept_waiting = kept_waiting();
        let busy = computed.saturating_sub(self.computed);
        let waited = kept_waiting.saturating_sub(self.kept_waiting);
        let runnable = processes.iter().any(|process| process.is_runnable);
        self.own += own_part(passed, busy, waited, runnable);
        (self.looked, self.computed, self.kept_waiting) = (Instant::now(), computed, kept_waiting);
        self.own
    }
}

/// Own time within the `passed` time: `busy` is the time that machine and guard computed, `waited` the time that the
/// guard waited for a processor. A `runnable` machine that did not compute waited for one as well.
fn own_part(passed: Duration, busy: Duration, waited: Duration, runnable: bool) -> Duration {
    let own = match runnable {
        true => busy,
        false => passed.saturating_sub(waited).max(busy),
    };
    own.min(passed)
}

/// A process of the machine, from proc(5).
struct Process {
    is_runnable: bool,
    /// With its children that have ended
    computed: Duration,
}

/// The process group of a machine, which nothing in it can leave: the kernel, its children, in which the guest's
/// programs run, and any process that a compromised kernel has started outside this tree.
struct Group {
    kernel: u32,
    /// In the form of proc(5)
    number: Option<String>,
    found: BTreeSet<u32>,
    searched: Instant,
    pause: Duration,
}

impl Group {
    fn of(kernel: u32) -> Self {
        Self {
            kernel,
            number: stat_of(&kernel.to_string()).and_then(|fields| fields.into_iter().nth(GROUP)),
            found: BTreeSet::new(),
            // Most machines have ended before the first search, which takes longer than their start.
            searched: Instant::now(),
            pause: SEARCH,
        }
    }

    fn processes(&mut self) -> Vec<Process> {
        if self.searched.elapsed() >= self.pause {
            let begin = Instant::now();
            self.found = self.search();
            let pause = begin.elapsed().saturating_mul(SEARCH_PAUSE);
            self.pause = pause.clamp(SEARCH, LONGEST_PAUSE);
            self.searched = Instant::now();
        }
        let children = format!("/proc/{0}/task/{0}/children", self.kernel);
        let children = std::fs::read_to_string(children).unwrap_or_default();
        let mut pids = self.found.clone();
        pids.insert(self.kernel);
        pids.extend(
            children
                .split_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
        pids.iter()
            .filter_map(|pid| {
                let fields = self.stat(*pid)?;
                Some(Process {
                    is_runnable: fields.first()? == "R",
                    computed: ticks(fields.get(11..15)?)?,
                })
            })
            .collect()
    }

    fn search(&self) -> BTreeSet<u32> {
        let Ok(all) = std::fs::read_dir("/proc") else {
            return BTreeSet::new();
        };
        all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|pid| self.stat(*pid).is_some())
            .collect()
    }

    /// Fields of a process, if it is in the group.
    fn stat(&self, pid: u32) -> Option<Vec<String>> {
        let fields = stat_of(&pid.to_string())?;
        (fields.get(GROUP) == self.number.as_ref()).then_some(fields)
    }
}

/// Time that the guard waited for a processor: the second number of schedstat.
fn kept_waiting() -> Duration {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let waited = text.split_whitespace().nth(1).and_then(|n| n.parse().ok());
    Duration::from_nanos(waited.unwrap_or(0))
}

fn voluntary_switches(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|l| l.strip_prefix("voluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}

/// CPU time of all children of this process that belong to programs of the guest.
fn taken_by_children(pid: u32) -> Option<Duration> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    Some(children.split_whitespace().filter_map(taken_by).sum())
}

/// CPU time of a process: utime and stime of proc(5), in ticks.
fn taken_by(pid: &str) -> Option<Duration> {
    ticks(stat_of(pid)?.get(11..13)?)
}

/// Index of the process group among the fields.
const GROUP: usize = 2;

/// The fields of /proc/PID/stat that come after the name, which is in parentheses and may contain anything.
fn stat_of(pid: &str) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    Some(fields.split_whitespace().map(String::from).collect())
}

/// Sum of fields that count ticks.
fn ticks(fields: &[String]) -> Option<Duration> {
    let counts = fields.iter().map(|field| field.parse::<u64>().ok());
    let sum = counts.sum::<Option<u64>>()?;
    Some(Duration::from_secs_f64(sum as f64 / ticks_per_second()))
}

fn ticks_per_second() -> f64 {
    // SAFETY: sysconf takes a number and touches no memory.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::signal::{Signal, killpg};
    use nix::unistd::Pid;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    /// Observes a process that waits for a child that computes (sh for its last command), or for one that sleeps.
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
    fn a_machine_that_waits_for_a_processor_takes_what_it_computed() {
        let [long, short] = [Duration::from_secs(10), Duration::from_secs(1)];
        let none = Duration::ZERO;
        assert_eq!(own_part(long, short, none, true), short);
        // It sleeps: by its own choice, or until a guard without a processor reads what it wrote.
        assert_eq!(own_part(long, none, none, false), long);
        assert_eq!(own_part(long, none, long - short, false), short);
        // Both compute at the same time.
        assert_eq!(own_part(short, long, none, true), short);
    }

    #[test]
    fn a_machine_that_stands_still_takes_the_time_that_passes() {
        let sleep = Command::new("sleep").arg("60").process_group(0).spawn();
        let Ok(mut child) = sleep else {
            unreachable!("sleep is on every machine");
        };
        let mut own = OwnTime::new(child.id(), Duration::from_secs(60));
        let begin = Instant::now();
        let patience = Duration::from_secs(120);
        while own.taken() < Duration::from_millis(500) && begin.elapsed() < patience {
            std::thread::sleep(Duration::from_millis(20));
        }
        let (taken, passed) = (own.taken(), begin.elapsed());
        let _ = child.kill();
        let _ = child.wait();
        assert!(taken >= Duration::from_millis(500) && taken <= passed);
    }

    #[test]
    fn what_nobodys_child_computes_is_the_machines() {
        // A process that ends at once starts it.
        let script = "(sh -c 'while :; do :; done' &); sleep 300; :";
        let sh = Command::new("sh")
            .args(["-c", script])
            .process_group(0)
            .spawn();
        let Ok(mut sh) = sh else {
            unreachable!("sh is on every machine");
        };
        let mut group = Group::of(sh.id());
        let begin = Instant::now();
        let mut seen = false;
        while !seen && begin.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(100));
            let computed: Duration = group.processes().iter().map(|p| p.computed).sum();
            seen = computed >= Duration::from_millis(500);
        }
        let _ = killpg(Pid::from_raw(sh.id() as i32), Signal::SIGKILL);
        let _ = sh.wait();
        assert!(seen);
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
