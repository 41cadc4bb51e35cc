"""Every problem found is described with the command that fixes it."""

import io
import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest
from netwarp.engines import memory
from netwarp.kernels.cache import Kernel, digest_of, write_facts
from netwarp.kernels.recipe import tree_digest
from netwarp.steps import doctor
from netwarp.steps.doctor import CheckResult
from rich.console import Console


def finding(name: str, environ: dict[str, str] | None = None) -> CheckResult:
    found = {entry.name: entry for entry in doctor.diagnose(environ=environ or {"HOME": "/nonexistent"})}
    return found[name]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}


def fake_kernel(cache: Path, script: str = "#!/bin/sh\necho 6.12\n") -> Kernel:
    directory = cache / "0123456789abcdef"
    directory.mkdir(parents=True)
    binary = directory / "linux"
    binary.write_text(script)
    binary.chmod(0o755)
    kernel = Kernel(binary, digest_of(binary), "6.12.1-netwarp", directory.name, tree_digest(), "source", "gcc")
    write_facts(kernel, directory)
    return kernel


def test_every_failing_finding_has_a_sentence_and_a_command(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    failing = [entry for entry in doctor.diagnose(environ=environ) if not entry.ok]
    assert {"gcc", "flex", "libelf.h", "kernel"} <= {entry.name for entry in failing}
    for entry in failing:
        assert entry.fix, entry
        assert entry.detail.rstrip().endswith("."), entry


def test_a_missing_compiler_is_installed_with_apt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    for user, prefix in ((0, ""), (1000, "sudo ")):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        entry = finding("gcc")
        assert entry.detail == "The program `gcc` is not installed (compiles the kernel)."
        assert entry.fix == f"{prefix}apt-get install -y gcc"


def test_a_missing_header_names_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gcc = tmp_path / "gcc"
    gcc.write_text("#!/bin/sh\nread line\ncase $line in *libelf.h*) exit 1 ;; esac\n")
    gcc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert finding("openssl/opensslv.h").ok
    entry = finding("libelf.h")
    assert entry.detail == "The header libelf.h, needed to build the kernel, is missing."
    assert entry.fix is not None and entry.fix.endswith("apt-get install -y libelf-dev")


def test_a_missing_kernel_is_built(environ: dict[str, str]) -> None:
    entry = finding("kernel", environ)
    assert (entry.ok, entry.fix) == (False, "netwarp kernel build")


def test_an_installed_kernel_is_reported_with_its_digest(environ: dict[str, str], tmp_path: Path) -> None:
    kernel = fake_kernel(tmp_path / "cache" / "netwarp" / "kernels")
    entry = finding("kernel", environ)
    assert entry.ok
    assert kernel.digest in entry.detail


@pytest.mark.slow
def test_a_kernel_that_changed_or_does_not_run_is_built_again(environ: dict[str, str], tmp_path: Path) -> None:
    kernel = fake_kernel(tmp_path / "cache" / "netwarp" / "kernels", "#!/bin/sh\nexit 1\n")
    fix = "netwarp kernel remove 0123456789abcdef && netwarp kernel build"
    entry = finding("kernel", environ)
    assert (entry.ok, entry.fix) == (False, fix)
    assert "does not run" in entry.detail
    kernel.path.write_text("#!/bin/sh\n")
    entry = finding("kernel", environ)
    assert (entry.ok, entry.fix) == (False, fix)
    assert "digest has changed" in entry.detail


def test_without_the_agent_a_kernel_is_not_tried(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = fake_kernel(tmp_path / "cache" / "netwarp" / "kernels")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    entry = finding("kernel", environ)
    assert (entry.ok, entry.fix) == (False, finding("agent").fix)
    assert f"{kernel.path} was not tried: " in entry.detail


def test_a_source_that_is_named_wrongly_is_unset(environ: dict[str, str]) -> None:
    entry = finding("kernel source", environ | {"NETWARP_KERNEL_SOURCE": "/nowhere.tar.xz"})
    assert (entry.ok, entry.fix) == (False, "unset NETWARP_KERNEL_SOURCE")


@pytest.mark.parametrize(("name", "program"), [("agent", "netwarp-agent"), ("observer", "netwarp-observe")])
def test_the_programs_stand_beside_the_interpreter_or_on_path(
    name: str, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    entry = finding(name)
    assert not entry.ok
    assert str(tmp_path / program) in entry.detail
    (tmp_path / program).write_text("")
    entry = finding(name)
    assert (entry.ok, entry.fix) == (False, f"chmod a+x {tmp_path / program}")
    (tmp_path / program).chmod(0o755)
    assert finding(name).ok


def test_the_memory_file_lives_where_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory, problems = memory.find_memory_directory({"TMPDIR": str(tmp_path)})
    assert (directory, problems) == (tmp_path, [])
    directory, problems = memory.find_memory_directory({"TMPDIR": str(tmp_path / "nowhere")})
    assert directory != tmp_path / "nowhere"
    assert problems[0] == f"{tmp_path / 'nowhere'} cannot be used (No such file or directory)."
    monkeypatch.setattr(memory, "MEMORY_BYTES", 10**18)
    assert memory.find_memory_directory({})[0] is None
    entry = finding("memory file", {"HOME": str(tmp_path)})
    assert not entry.ok
    assert "MB free of the" in entry.detail
    assert entry.fix is not None and entry.fix.endswith(f"export TMPDIR={tmp_path}/.cache/netwarp/tmp")


def test_a_place_mounted_noexec_is_remounted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(mmap, "mmap", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    entry = finding("memory file")
    assert "is mounted noexec" in entry.detail
    assert entry.fix == "sudo mount -o remount,exec /dev/shm"


@pytest.mark.parametrize(
    ("scope", "fix"),
    [
        ("2", "sudo sysctl kernel.yama.ptrace_scope=1"),
        ("3", "set kernel.yama.ptrace_scope=1 in /etc/sysctl.d and reboot"),
        ("1", "docker run --cap-add=SYS_PTRACE …"),
    ],
)
def test_forbidden_tracing_is_fixed_by_who_forbids_it(
    scope: str, fix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scope").write_text(f"{scope}\n")
    monkeypatch.setattr(doctor, "_YAMA", tmp_path / "scope")
    monkeypatch.setattr(doctor, "_TRACE", "import sys; sys.exit('Operation not permitted')")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    entry = finding("ptrace")
    assert (entry.ok, entry.fix) == (False, fix)
    assert "Operation not permitted" in entry.detail


# Refuses ptrace (101 on x86-64) to this process and its children, as a container's filter does: prctl(2), seccomp(2).
FORBID = """
import ctypes, struct
code = struct.pack("HBBI" * 4, 0x20, 0, 0, 0, 0x15, 0, 1, 101, 0x06, 0, 0, 0x00050001, 0x06, 0, 0, 0x7FFF0000)
buffer = ctypes.create_string_buffer(code)
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(4, ctypes.addressof(buffer))), 0, 0) == 0
"""
LOOK = "from netwarp.steps import doctor; print(next(f.ok for f in doctor.diagnose() if f.name == 'ptrace'))"


@pytest.mark.slow
@pytest.mark.parametrize(("before", "allowed"), [("", "True"), (FORBID, "False")])
def test_tracing_is_tried_for_real(before: str, allowed: str) -> None:
    """Needs a machine that allows ptrace, as every lab does."""
    done = subprocess.run([sys.executable, "-c", before + LOOK], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == allowed


def test_a_cache_that_cannot_be_written_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    entry = finding("cache", {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert not entry.ok
    assert f"{tmp_path} is not yours to write" in entry.detail


def test_cleaning_removes_what_nobody_holds(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    stale = [tmp_path / "cache/netwarp/kernels/.build-1", tmp_path / "tmp/netwarp-kernel-1"]
    stale += [tmp_path / f"tmp/netwarp-{name}-1" for name in ("runs", "program", "ssh", "memory")]
    monkeypatch.setattr(doctor, "memory_places", lambda environ: [])  # other tests use them
    for path in stale:
        (path / "tree").mkdir(parents=True)
    console = Console(file=io.StringIO(), width=80)
    assert doctor.clean(environ=environ, console=console) == stale
    assert not any(path.exists() for path in stale)
    assert doctor.clean(environ=environ, console=console) == []
