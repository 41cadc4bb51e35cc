"""Files that a machine may read, and messages if a host cannot confine it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from netwarp.common.agent import Confinement
from netwarp.engines import confinement
from netwarp.engines.confinement import readable, readable_there, withheld_there
from netwarp.engines.leavings import odd_files, read_start
from netwarp.scenario import load_scenario
from netwarp.scenario.errors import ScenarioError
from netwarp.values import private
from netwarp.values.files import read_file
from netwarp.values.private import is_private
from scenario_texts import replaced

AGENT = Path("/usr/bin/true")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only home directory."""
    place = tmp_path / "homes/me"
    place.mkdir(parents=True)
    monkeypatch.setattr(private, "homes", lambda: (place,))
    return place


def test_a_directory_that_holds_more_than_a_scenario_is_not_given_away(home: Path, tmp_path: Path) -> None:
    study, shared, link = home / "study", tmp_path / "shared", tmp_path / "link"
    study.mkdir()
    shared.mkdir()
    shared.chmod(0o1777)
    link.symlink_to(home)
    assert not is_private(study)
    for place in (home, home.parent, tmp_path, Path("/"), link, shared, home / "missing"):
        assert is_private(place), place
        assert place not in readable(AGENT, place, ())
    assert study in readable(AGENT, study, ())


def test_no_keys_and_no_passwords_can_be_read(home: Path) -> None:
    places = readable(AGENT, home, ())
    for secret in (
        "/etc/shadow",
        "/etc/ssh/ssh_host_rsa_key",
        "/etc/ssl/private/x.key",
        "/root/.ssh/id_rsa",
        "/proc/1/mem",
    ):
        assert not any(Path(secret).is_relative_to(place) for place in places), secret
    assert all(place.exists() for place in places)


def test_of_another_machine_it_cannot_be_seen_what_is_there(tmp_path: Path) -> None:
    loaded = load_scenario(str(scenario(tmp_path, '["/srv/lab/tuner", "/usr/bin/env"]', 'read = ["/srv/data"]')))
    found = list(withheld_there(loaded, ()))
    assert [keys for keys, _ in found] == [("run", "read"), ("flows", "bulk", "client")]
    assert all("on its machines" in sentence and "add `--read /srv/" in sentence for _, sentence in found)
    assert list(withheld_there(loaded, (Path("/srv"),))) == []
    assert "/etc/python3*" in readable_there(())


def scenario(folder: Path, client: str, run: str = "") -> Path:
    path = folder / "s.toml"
    path.write_text(replaced(('tool = "bulk"', f'tool = "command"\nclient = {client}'), tail=f"[run]\n{run}\n"))
    return path


def withheld(path: Path, *granted: Path) -> str:
    found = confinement.withheld(load_scenario(path), AGENT, granted)
    return "\n".join(f"{'.'.join(map(str, keys))}: {why}" for keys, why in found)


def test_files_that_a_scenario_names_elsewhere_have_to_be_allowed(home: Path) -> None:
    study, key = home / "study", home / "key"
    study.mkdir()
    key.write_text("secret")
    assert withheld(scenario(study, f'["cat", "{study}/s.toml", "/etc/services", "/proc/kmsg", "/no/such"]')) == ""
    refused = withheld(scenario(study, f'["cat", "{key}"]'))
    assert f"--read {key}" in refused and "flows.bulk.client" in refused
    assert withheld(scenario(study, f'["cat", "{key}"]'), home) == ""
    (study / "link").symlink_to(key)
    assert f"--read {study}/link" in withheld(scenario(study, f'["cat", "{study}/link"]'))
    assert f"--read {key}" in withheld(scenario(study, '["true"]', f'read = ["{key}"]'))
    assert withheld(scenario(study, '["true"]', f'read = ["{key}"]'), key) == ""
    assert "no such file" in withheld(scenario(study, '["true"]'), home / "missing")
    with pytest.raises(ScenarioError, match="not an absolute path"):
        withheld(scenario(study, '["true"]', 'read = ["key"]'))


def test_what_is_no_file_does_not_stay_in_a_run_directory(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "captures").mkdir(parents=True)
    (run / "kept").write_text("kept")
    (tmp_path / "secret").write_text("secret")
    (run / "captures/link").symlink_to(tmp_path / "secret")
    (run / "directory").symlink_to(tmp_path)
    os.link(tmp_path / "secret", run / "hard")
    os.mkfifo(run / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(run / "socket"))
    assert odd_files(run) == ["captures/link", "directory", "hard", "pipe", "socket"]
    assert sorted(path.name for path in run.rglob("*")) == ["captures", "kept"]
    assert (tmp_path / "secret").read_text() == "secret"


def test_nothing_is_read_without_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    (tmp_path / "large").write_bytes(bytes(100))
    assert read_start(tmp_path / "pipe", 10) == b""
    assert len(read_start(tmp_path / "large", 10)) == 10
    with pytest.raises(OSError, match="symbolic"):
        read_start(tmp_path / "link", 10)
    for odd in ("pipe", "link"):
        with pytest.raises(ValueError, match="not a regular file"):
            read_file(tmp_path / odd, 10)
    assert len(read_file(tmp_path / "large", 10)) == 11
    assert read_file(Path("/proc/kmsg"), 10) == b""


def test_a_host_that_cannot_confine_is_reported() -> None:
    assert Confinement(7, True).lacks == Confinement(6, True).lacks == []
    (none,) = Confinement(0, True).lacks
    assert "no Landlock" in none and "that you trust" in none
    (old,) = Confinement(2, True).lacks
    assert "version 2 of Landlock" in old and "signals" in old
    assert len(Confinement(0, False).lacks) == 2
    assert Confinement(0, False).lacks_in_real_time == [none]
    assert Confinement(1, False).lacks_in_real_time == []
