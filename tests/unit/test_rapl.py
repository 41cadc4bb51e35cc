"""The counters of RAPL, in a directory like the kernel's."""

from __future__ import annotations

from pathlib import Path

from netwarp.engines.host.rapl import Counter, counters, spent_j


def zone(root: Path, name: str, package: str, energy_uj: str) -> None:
    (root / name).mkdir()
    (root / name / "name").write_text(f"{package}\n")
    (root / name / "energy_uj").write_text(f"{energy_uj}\n")
    (root / name / "max_energy_range_uj").write_text("262143328850\n")


def test_packages_are_read_and_their_parts_left_out(tmp_path: Path) -> None:
    zone(tmp_path, "intel-rapl:0", "package-0", "1000000")
    zone(tmp_path, "intel-rapl:0:0", "core", "500000")
    zone(tmp_path, "intel-rapl:1", "package-1", "7")
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", "3")
    assert counters(tmp_path) == {"package-0": Counter(1_000_000, 262143328850), "package-1": Counter(7, 262143328850)}


def test_without_counters_or_permission_there_is_nothing(tmp_path: Path) -> None:
    assert counters(tmp_path / "missing") == {}
    zone(tmp_path, "intel-rapl:0", "package-0", "1")
    (tmp_path / "intel-rapl:0" / "energy_uj").unlink()
    (tmp_path / "intel-rapl:0" / "energy_uj").mkdir()  # cannot be read, also by root
    assert counters(tmp_path) == {}


def test_joules_are_what_a_counter_grew_by_also_over_its_end() -> None:
    before = {"package-0": Counter(1_000_000, 5_000_000), "package-1": Counter(4_500_000, 5_000_000)}
    after = {"package-0": Counter(3_500_000, 5_000_000), "package-1": Counter(500_000, 5_000_000)}
    assert spent_j(before, after) == {"package-0": 2.5, "package-1": 1.0}
    assert spent_j(before, {"package-0": Counter(1_000_000, 5_000_000)}) == {"package-0": 0.0}
    assert spent_j({}, after) == {}
