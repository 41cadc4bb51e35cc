"""Checks of whether this machine can build and run labs, with the command that fixes each problem."""

from __future__ import annotations

import mmap
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from netwarp.common.agent import AGENT, OBSERVER, AgentError, confinement_here, find_agent
from netwarp.common.platforms import wrong_processor
from netwarp.common.scratch import CONNECTIONS, MEMORY, PROGRAMS, RUNS, clean_stale
from netwarp.common.terminal import Terminal
from netwarp.engines.base import EngineError
from netwarp.engines.host.leftovers import leftovers
from netwarp.engines.mappings import USUAL_MAPPINGS, max_mappings
from netwarp.engines.memory import SHARED_MEMORY, find_memory_directory, memory_places, memory_problem
from netwarp.engines.orphans import end_machine, machines
from netwarp.engines.tools import find_tools, tools_digest
from netwarp.kernels import Kernel, KernelError, KernelMissing, cache_directory, find_kernel
from netwarp.kernels.cache import TEMPORARY, digest_of, packaged_kernel
from netwarp.kernels.commands import WORK, confined
from netwarp.kernels.recipe import DEFAULT_SERIES
from netwarp.kernels.source import find_source

_CHECKOUT = Path(__file__).resolve().parents[3]
_YAMA = Path("/proc/sys/kernel/yama/ptrace_scope")

# program → (Debian package, its purpose for netwarp)
_BUILD_PROGRAMS = {
    "gcc": ("gcc", "compiles the kernel"),
    "ld": ("binutils", "links the kernel"),
    "make": ("make", "builds the kernel"),
    "flex": ("flex", "builds the kernel's configuration program"),
    "bison": ("bison", "builds the kernel's configuration program"),
    "bc": ("bc", "computes constants of the kernel"),
    "patch": ("patch", "applies netwarp's changes to the kernel"),
    "tar": ("tar", "unpacks the kernel source"),
    "xz": ("xz-utils", "unpacks the kernel source"),
}
# header → Debian package
_HEADERS = {"libelf.h": "libelf-dev", "openssl/opensslv.h": "libssl-dev"}

# The steps of UML with each of its processes: it is traced from its start, stopped, read, and continued.
_TRACE = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
child = os.fork()
if child == 0:
    if libc.ptrace(0, 0, None, None) != 0:
        os._exit(ctypes.get_errno() or 1)
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
_, status = os.waitpid(child, os.WUNTRACED)
if not os.WIFSTOPPED(status):
    sys.exit(os.strerror(os.waitstatus_to_exitcode(status)))
allowed = libc.ptrace(24, child, None, None) == 0
error = ctypes.get_errno()
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
sys.exit(None if allowed else os.strerror(error))
"""


@dataclass(frozen=True)
class CheckResult:
    """The result of one check: whether it passed, the finding, and the command that fixes the problem."""

    name: str
    ok: bool
    detail: str
    fix: str | None = None


def diagnose(*, environ: Mapping[str, str] | None = None) -> list[CheckResult]:
    """Check everything that running labs needs, and building the kernel unless a wheel has it; problems are results,
    not exceptions."""
    environ = os.environ if environ is None else environ
    results = [_processor()]
    if (_CHECKOUT / "Cargo.toml").is_file() or packaged_kernel() is None:
        results += [_program(name, *facts) for name, facts in _BUILD_PROGRAMS.items()]
        results += [_header(header, package) for header, package in _HEADERS.items()]
        results.append(_source(environ))
    if (_CHECKOUT / "Cargo.toml").is_file():
        results.append(_cargo())
    checks: list[Callable[[], CheckResult]] = [
        lambda: _kernel(environ),
        _agent,
        _tools,
        lambda: _installed("observer", OBSERVER),
        lambda: _memory(environ),
        _tracing,
        _mappings,
        _confinement,
        lambda: _cache(environ),
        _pinning,
    ]
    return results + [check() for check in checks]


def clean(*, environ: Mapping[str, str] | None = None, console: Console | None = None) -> list[Path]:
    """Remove the remains of killed processes, and report it on `console` (default: stderr).

    That is: builds in the cache and in TMPDIR; runs of Dask workers and of `rerun`, directories of programs that decide
    congestion control, and sockets of connections in TMPDIR; memory files of virtual machines. Also end runs of the
    engine `host` whose netwarp is gone, and processes of virtual machines whose guard is gone."""
    console = console or Terminal(stderr=True)
    temporary = Path(tempfile.gettempdir())
    in_temporary = [(temporary, prefix) for prefix in (WORK, RUNS, PROGRAMS, CONNECTIONS)]
    left = machines(cache_directory(environ))
    for machine in left.values():
        end_machine(machine)
    memory = [(place, MEMORY) for place in dict.fromkeys([*memory_places(environ), temporary])]
    removed = clean_stale([(cache_directory(environ), TEMPORARY), *in_temporary, *memory])
    for path in removed:
        console.print(f"Removed {path}", soft_wrap=True, highlight=False)
    ended = list(leftovers())
    for leftover in ended:
        leftover.end()
        console.print(f"Ended the run {leftover.run} (process {leftover.pid}), whose netwarp is gone")
    for session, machine in left.items():
        ids = ", ".join(str(one.pid) for one in machine)
        console.print(f"Ended the rest of the virtual machine of the guard {session} (processes {ids})")
    if not removed and not ended and not left:
        console.print("Nothing to clean.")
    return removed


def _processor() -> CheckResult:
    if reason := wrong_processor():
        return CheckResult("processor", False, reason, "ssh to an x86-64 machine, and install netwarp there")
    return CheckResult("processor", True, os.uname().machine)


def _program(name: str, package: str, purpose: str) -> CheckResult:
    found = shutil.which(name)
    if found:
        return CheckResult(name, True, found)
    return CheckResult(name, False, f"The program `{name}` is not installed ({purpose}).", _install(package))


def _header(header: str, package: str) -> CheckResult:
    if shutil.which("gcc") is None:
        detail = f"Without gcc netwarp cannot check whether the header {header} is there."
        return CheckResult(header, False, detail, _install("gcc", package))
    answer = subprocess.run(
        ["gcc", "-E", "-x", "c", "-"], input=f"#include <{header}>\n", capture_output=True, text=True, check=False
    )
    if answer.returncode == 0:
        return CheckResult(header, True, "the compiler finds it")
    return CheckResult(
        header, False, f"The header {header}, needed to build the kernel, is missing.", _install(package)
    )


def _cargo() -> CheckResult:
    found = shutil.which("cargo")
    if found:
        return CheckResult("cargo", True, found)
    detail = "`cargo` (Rust), which builds the agent of this checkout, is not on PATH."
    # Debian 12 has neither rustup nor a Rust that is new enough.
    return CheckResult("cargo", False, detail, "rustup default stable  # rustup itself comes from rust-lang.org")


def _source(environ: Mapping[str, str]) -> CheckResult:
    try:
        return CheckResult("kernel source", True, str(find_source(environ=environ)))
    except KernelError as error:
        fix = "unset NETWARP_KERNEL_SOURCE" if environ.get("NETWARP_KERNEL_SOURCE") else None
        return CheckResult("kernel source", False, str(error), fix or _install(f"linux-source-{DEFAULT_SERIES}"))


def _kernel(environ: Mapping[str, str]) -> CheckResult:
    cache = cache_directory(environ)
    try:
        kernel = find_kernel(cache=cache)
    except KernelMissing as error:
        return CheckResult("kernel", False, str(error), "netwarp kernel build")
    try:
        problem = _wrong_with_kernel(kernel)
    except KernelError as error:
        return CheckResult("kernel", False, f"The kernel {kernel.path} was not tried: {error}", _agent().fix)
    if problem is None:
        return CheckResult("kernel", True, f"{kernel.version} {kernel.key} (sha256 {kernel.digest}) {kernel.path}")
    return CheckResult("kernel", False, problem, f"netwarp kernel remove {kernel.key} && netwarp kernel build")


def _wrong_with_kernel(kernel: Kernel) -> str | None:
    """The fault of a kernel; None if it runs. Raises KernelError without the agent, which confines it."""
    try:
        if digest_of(kernel.path) != kernel.digest:
            return f"The kernel {kernel.path} is not what was built: its digest has changed."
        subprocess.run(
            [*confined([kernel.path], []), str(kernel.path), "--version"], capture_output=True, check=True, timeout=10
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"The kernel {kernel.path} does not run: {error}."
    return None


def _agent() -> CheckResult:
    return _installed("agent", AGENT)


def _tools() -> CheckResult:
    """Check for the programs that netwarp runs in labs."""
    try:
        return CheckResult("tools", True, f"{find_tools()} (sha256 {tools_digest()})")
    except EngineError as error:
        return CheckResult("tools", False, str(error), _again("netwarp-tools"))


def _installed(name: str, program: str) -> CheckResult:
    """Check for one of netwarp's programs, which are installed with it."""
    beside = Path(sys.executable).parent / program
    found = str(beside) if beside.exists() else shutil.which(program)
    fix = _again("netwarp")
    if found is None:
        return CheckResult(name, False, f"`{program}` is neither at {beside} nor on PATH.", fix)
    if not os.access(found, os.X_OK):
        return CheckResult(name, False, f"{found} is not executable.", f"chmod a+x {shlex.quote(found)}")
    return CheckResult(name, True, found)


def _again(package: str) -> str:
    """The command that installs one of netwarp's packages again."""
    return "make setup" if (_CHECKOUT / "Makefile").is_file() else f"pip install --force-reinstall {package}"


def _memory(environ: Mapping[str, str]) -> CheckResult:
    directory, problems = find_memory_directory(environ)
    if directory is not None:
        free = shutil.disk_usage(directory).free
        return CheckResult("memory file", True, f"{directory} ({free / 1e6:.0f} MB free, executable)")
    detail = "No place for the memory of a virtual machine: " + " ".join(problems)
    return CheckResult("memory file", False, detail, _fix_memory(environ))


def _fix_memory(environ: Mapping[str, str]) -> str:
    if environ.get("TMPDIR"):
        return "unset TMPDIR"
    if "noexec" in (memory_problem(SHARED_MEMORY) or ""):
        return _as_root(f"mount -o remount,exec {SHARED_MEMORY}")
    home = cache_directory(environ).parent / "tmp"
    return f"mkdir -p {shlex.quote(str(home))} && export TMPDIR={shlex.quote(str(home))}"


def _tracing() -> CheckResult:
    try:
        subprocess.run(
            [sys.executable, "-I", "-S", "-c", _TRACE], capture_output=True, text=True, check=True, timeout=30
        )
    except subprocess.CalledProcessError as error:
        return _forbidden(error.stderr.strip().rpartition("\n")[2] or f"status {error.returncode}")
    except (OSError, subprocess.TimeoutExpired) as error:
        return _forbidden(str(error))
    return CheckResult("ptrace", True, "a process may trace its children")


def _mappings() -> CheckResult:
    found = max_mappings()
    # In the worst case each page of a lab's program is a separate mapping.
    detail = f"vm.max_map_count is {found}: at least {found * mmap.PAGESIZE / 1e6:.0f} MB for each program of a lab"
    if found >= USUAL_MAPPINGS:
        return CheckResult("memory mappings", True, detail)
    fix = _as_root(f"sysctl vm.max_map_count={USUAL_MAPPINGS}")
    return CheckResult("memory mappings", False, f"{detail}; the usual limit is {USUAL_MAPPINGS}.", fix)


def _confinement() -> CheckResult:
    try:
        found = confinement_here(find_agent())
    except AgentError as error:
        return CheckResult("confinement", False, str(error), "make setup")
    if not found.lacks:
        detail = f"Landlock (version {found.landlock}) and seccomp keep a scenario's programs from your files"
        return CheckResult("confinement", True, detail)
    fix = "boot a kernel with CONFIG_SECURITY_LANDLOCK, and landlock among lsm=; or use no container that forbids it"
    return CheckResult("confinement", False, " ".join(f"{lack[0].upper()}{lack[1:]}." for lack in found.lacks), fix)


def _forbidden(reason: str) -> CheckResult:
    try:
        scope = int(_YAMA.read_text())
    except (OSError, ValueError):
        scope = 0
    detail = f"This process may not trace its children ({reason}), which the virtual machine needs"
    if scope >= 3:
        detail += f"; {_YAMA} is {scope}, which only a reboot changes."
        return CheckResult("ptrace", False, detail, "set kernel.yama.ptrace_scope=1 in /etc/sysctl.d and reboot")
    if scope == 2:
        detail += f"; {_YAMA} is {scope}."
        return CheckResult("ptrace", False, detail, _as_root("sysctl kernel.yama.ptrace_scope=1"))
    detail += "; a container's filter forbids it."
    return CheckResult("ptrace", False, detail, "docker run --cap-add=SYS_PTRACE …")


def _cache(environ: Mapping[str, str]) -> CheckResult:
    cache = cache_directory(environ)
    nearest = next(path for path in (cache, *cache.absolute().parents) if path.exists())
    if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
        return CheckResult("cache", True, str(cache))
    detail = f"The cache {cache} cannot be written ({nearest} is not yours to write)."
    return CheckResult("cache", False, detail, "export XDG_CACHE_HOME=…  # a directory of yours")


def _pinning() -> CheckResult:
    try:
        processors = os.sched_getaffinity(0)
        os.sched_setaffinity(0, processors)
    except OSError as error:
        detail = f"Processes may not be pinned to a CPU ({error.strerror}); runs take 1.5 to 1.9 times as long."
        return CheckResult("CPU pinning", False, detail, "allow sched_setaffinity in the container's seccomp profile")
    return CheckResult("CPU pinning", True, f"{len(processors)} CPUs to pin runs to")


def _install(*packages: str) -> str:
    return _as_root(f"apt-get install -y {' '.join(packages)}")


def _as_root(command: str) -> str:
    return command if os.geteuid() == 0 else f"sudo {command}"
