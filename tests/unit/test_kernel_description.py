"""A kernel's description of itself, from trees of other series than the one that labs run on."""

from pathlib import Path

import pytest
from netwarp.kernels.description import describe
from netwarp.kernels.errors import KernelError

REASONS = "#define DEFINE_DROP_REASON(FN, FNe)\t\\\n\tFN(NOT_SPECIFIED)\t\\\n\tFN(QDISC_DROP)\t\\\n\tFNe(MAX)\n"


def tree_with(directory: Path, reasons: str | None) -> Path:
    """A tree without anything compiled, with its drop reasons in the named header."""
    files = {"include/uapi/linux/tcp.h": "struct tcp_info {\n\t__u8\ttcpi_state;\n};\n", "modules.builtin": ""}
    if reasons:
        files[reasons] = REASONS
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return directory


@pytest.mark.parametrize("header", ["dropreason-core.h", "dropreason.h"], ids=["6.12", "6.1"])
def test_drop_reasons_are_found_where_the_series_has_them(tmp_path: Path, header: str) -> None:
    known = describe(tree_with(tmp_path, f"include/net/{header}"), "6.1.0-netwarp")
    assert known.drop_reasons == ("not_dropped", "consumed", "not_specified", "qdisc_drop")


def test_a_tree_without_drop_reasons_is_named(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match=r"has no dropreason-core\.h"):
        describe(tree_with(tmp_path, None), "6.1.0-netwarp")
