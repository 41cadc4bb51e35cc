"""A cache of kernels, a source to build them from, and programs that only pretend to compile."""

import io
import os
import tarfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from netwarp import kernels
from netwarp.common.archives import unpack
from netwarp.kernels import commands
from netwarp.kernels.build import build
from netwarp.kernels.commands import confined
from rich.console import Console

FAKE_MAKE = r"""#!/bin/sh
for last in "$@"; do :; done
case "$last" in
tinyconfig) echo "CONFIG_TINY=y" > .config ;;
olddefconfig) grep -v UNKNOWN .config > .new; mv .new .config ;;
linux)
    [ -n "$MAKEFLAGS" ] && echo "  error: MAKEFLAGS leaked" && exit 2
    echo run >> "$FAKE_COUNT"
    [ -e "$FAKE_STATE/fail" ] && echo "  CC      a.o" && echo "a.c:1: error: no such thing" && exit 2
    while [ -e "$FAKE_STATE/hang" ]; do touch "$FAKE_STATE/hanging"; sleep 0.02; done
    mkdir -p include/config; echo 6.12.0-netwarp > include/config/kernel.release
    touch net/sched/sch_api.o net/sched/sch_red.o net/ipv4/tcp_mine.o
    echo kernel/net/sched/sch-red.ko > modules.builtin
    for file in hello.txt added.txt; do
        [ -e "$file.o" ] && [ -z "$(find "$file" -newer "$file.o")" ] && continue
        echo "$file" >> "$FAKE_STATE/compiled"
        touch -r "$file" "$file.o"
    done
    cat hello.txt added.txt .config > linux; chmod +x linux ;;
esac
"""
SOURCES = {
    "include/net/dropreason-core.h": """
#define DEFINE_DROP_REASON(FN, FNe)\t\\
\tFN(NOT_SPECIFIED)\t\t\\
\tFN(QDISC_DROP)\t\t\\
\tFNe(MAX)
""",
    "include/uapi/linux/tcp.h": """
struct tcp_info {
\t__u8\ttcpi_state;
\t__u8\ttcpi_snd_wscale : 4, tcpi_rcv_wscale : 4;

\t__u32\ttcpi_rto;\t/* in us; not
\t\t\t\t * __u8 tcpi_never; */
\t__u64   tcpi_pacing_rate;
\t__u16   tcpi_total_rto;
};
""",
    "net/sched/sch_api.c": "\tregister_qdisc(&fast_ops);\n",
    "net/sched/sch_red.c": """
struct Qdisc_ops fast_ops __read_mostly = {
\t.id\t=\t"fast",
};
static struct Qdisc_ops red_ops __read_mostly = {
\t.next\t=\tNULL,
\t.id\t=\t"red",
};
static struct Qdisc_ops hidden_ops = {
\t.id\t=\t"hidden",
};
\treturn register_qdisc(&red_ops);
""",
    "net/sched/sch_off.c": 'struct Qdisc_ops off = {\n\t.id = "off",\n};\n\tregister_qdisc(&off);\n',
    "net/ipv4/tcp_mine.c": """
static struct tcp_congestion_ops mine = {
\t.owner\t\t= THIS_MODULE,
\t.name\t\t= "mine"
};
\ttcp_register_congestion_control(&mine);
""",
}
MAKEFILE = "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\n"
PATCH = """A change

--- a/hello.txt
+++ b/hello.txt
@@ -1 +1 @@
-hello
+hello, world
"""


class Workshop:
    """A source archive, a tree, an empty cache, and programs that only pretend to compile."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.cache = root / "cache" / "netwarp" / "kernels"
        self.archive = root / "linux-source-6.12.tar.xz"
        self.tree = root / "tree"
        self.state = root / "state"
        self.count = root / "state" / "count"
        self.bin = root / "bin"
        self.console = Console(file=io.StringIO(), width=200)
        for folder in (self.tree / "6.12" / "patches", self.tree / "files", self.state, self.bin, root / "tmp"):
            folder.mkdir(parents=True)
        (self.tree / "netwarp.config").write_text("# A comment\nCONFIG_A=y\n# CONFIG_B is not set\n")
        (self.tree / "6.12" / "patches" / "0001-hello.patch").write_text(PATCH)
        (self.tree / "files" / "added.txt").write_text("added\n")
        self.pack("hello\n")
        self.program("make", FAKE_MAKE.replace("$FAKE_COUNT", str(self.count)).replace("$FAKE_STATE", str(self.state)))
        self.program("strip", '#!/bin/sh\ncp "$3" "$2"\n')

    def pack(self, text: str) -> None:
        with tarfile.open(self.archive, "w:xz") as archive:
            made = dict.fromkeys(
                (
                    "hello.txt",
                    "Makefile",
                    "arch/um/Makefile",
                    "arch/um/kept.c",
                    "arch/arm/left_out.c",
                    "arch/arm/Kconfig",
                ),
                text,
            )
            for name, output in (made | {"Makefile": MAKEFILE} | SOURCES).items():
                content = output.encode()
                entry = tarfile.TarInfo(f"linux-source-6.12/{name}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))

    def program(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(script)
        path.chmod(0o755)

    def build(self, *, share: bool = False) -> kernels.Kernel:
        return build(self.archive, jobs=2, share=share, cache=self.cache, tree=self.tree, console=self.console)

    def named(
        self, name: str, *patches: str, source: Path | None = None, config: tuple[str, ...] = ()
    ) -> kernels.Kernel:
        """A kernel under a name, of the archive unless there is another source."""
        return build(
            source or self.archive,
            name=name,
            patches=patches,
            config=config,
            jobs=2,
            cache=self.cache,
            tree=self.tree,
            console=self.console,
        )

    def unpacked(self) -> Path:
        """A user's directory with the archive's content."""
        place = self.root / "linux"
        place.mkdir()
        with tarfile.open(self.archive) as archive:
            for entry in archive.getmembers():
                entry.name = entry.name.partition("/")[2]
            unpack(archive, place)
        return place

    def patch(self, name: str, file: str, before: str, after: str) -> str:
        """Write a patch of one line of a file."""
        path = self.root / name
        path.write_text(f"--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-{before}\n+{after}\n")
        return str(path)

    def compiled(self) -> list[str]:
        """Files compiled since the last call."""
        path = self.state / "compiled"
        found = path.read_text().split() if path.exists() else []
        path.unlink(missing_ok=True)
        return found

    def builds(self) -> int:
        return len(self.count.read_text().split()) if self.count.exists() else 0

    def output(self) -> str:
        file = self.console.file
        assert isinstance(file, io.StringIO)
        return file.getvalue()

    def leftovers(self) -> list[str]:
        names = sorted(path.name for path in self.cache.iterdir() if path.name.startswith(".build-"))
        return names + sorted(path.name for path in (self.root / "tmp").iterdir())


def open_workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """A workshop whose programs and directories netwarp finds."""
    shop = Workshop(tmp_path)
    monkeypatch.setenv("PATH", f"{shop.bin}:{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("MAKEFLAGS", "-j1")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(commands, "confined", walls_of(shop.root))
    return shop


def walls_of(root: Path) -> Callable[..., list[str]]:
    """Confinement of a workshop's programs, which are not part of the system and write logs beside the tree."""

    def walls(read: Iterable[Path], write: Iterable[Path], *, links: bool = False) -> list[str]:
        return confined((*read, root / "bin"), (*write, root / "state"), links=links)

    return walls


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.01)
