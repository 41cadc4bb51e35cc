"""Results of a command's own tests, as TAP and KTAP report them."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from netwarp.analysis.run.tap import Came, OwnTests, own_tests, read_tap
from netwarp.exports.junit import exec_junit
from netwarp.store.result import ResultDir

# Documentation/dev-tools/ktap.rst of Linux 6.12.
KTAP = """\
KTAP version 1
1..1
  KTAP version 1
  1..3
    KTAP version 1
    1..1
    # test_1: initializing test_1
    ok 1 test_1
  ok 1 example_test_1
    KTAP version 1
    1..2
    ok 1 test_1 # SKIP test_1 skipped
    ok 2 test_2
  ok 2 example_test_2
    KTAP version 1
    1..3
    ok 1 test_1
    # test_2: FAIL
    not ok 2 test_2
    ok 3 test_3 # SKIP test_3 skipped
  not ok 3 example_test_3
not ok 1 main_test
"""
# tools/testing/selftests/kselftest/runner.sh prints a test's output after "# ".
KSELFTEST = """\
TAP version 13
1..3
# timeout set to 45
# selftests: net: gro.sh
# running test ipv4 data
# ok
ok 1 selftests: net: gro.sh
# timeout set to 45
# selftests: net: amt.sh
# SKIP: amt module not found
ok 2 selftests: net: amt.sh # SKIP
# selftests: net: tls
# TAP version 13
# 1..2
# #  RUN           global.non_established ...
# #            OK  global.non_established
# ok 1 global.non_established
# # tls.c:100:recv:Expected 1 == 2
# not ok 2 tls.12_gcm.recv
# # FAILED: 1 / 2 tests passed.
# # Totals: pass:1 fail:1 xfail:0 xpass:0 skip:0 error:0
not ok 3 selftests: net: tls # exit=1
"""
# Output of Node's test runner.
NODE = """\
TAP version 13
# Subtest: adds
ok 1 - adds
  ---
  duration_ms: 0.5
  ...
# Subtest: subtracts
not ok 2 - subtracts
  ---
  failureType: 'testCodeFailure'
  error: |-
    Expected values to be equal
    not ok 9 - this is a word of the error
  ...
1..2
"""


def read(text: str) -> OwnTests:
    report = read_tap(text.splitlines())
    assert report is not None
    return report


def came(text: str) -> list[tuple[str, str]]:
    return [(test.name, test.came.value) for test in read(text).tests]


def test_the_example_of_the_kernels_documentation() -> None:
    main = "main_test / "
    assert came(KTAP) == [
        (f"{main}example_test_1 / test_1", "passed"),
        (f"{main}example_test_2 / test_1", "skipped"),
        (f"{main}example_test_2 / test_2", "passed"),
        (f"{main}example_test_3 / test_1", "passed"),
        (f"{main}example_test_3 / test_2", "failed"),
        (f"{main}example_test_3 / test_3", "skipped"),
    ]
    failed = read(KTAP).tests[4]
    assert failed.printed == "    # test_2: FAIL"
    assert read(KTAP).failure == f"1 of its 6 tests failed, first `{main}example_test_3 / test_2`"


def test_what_kselftests_runner_prints() -> None:
    """A diagnostic line `# ok` is not a result."""
    assert came(KSELFTEST) == [
        ("selftests: net: gro.sh", "passed"),
        ("selftests: net: amt.sh", "skipped"),
        ("selftests: net: tls / global.non_established", "passed"),
        ("selftests: net: tls / tls.12_gcm.recv", "failed"),
    ]
    assert "Expected 1 == 2" in read(KSELFTEST).tests[-1].printed


def test_diagnostics_in_yaml_are_not_results() -> None:
    assert came(NODE) == [("adds", "passed"), ("subtracts", "failed")]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ok 1 name", ("name", Came.PASSED, "")),
        ("ok 1 - name", ("name", Came.PASSED, "")),
        ("ok", ("test", Came.PASSED, "")),
        ("ok 1 # SKIP no tls", ("no tls", Came.SKIPPED, "no tls")),
        ("not ok 1 name # SKIP no tls", ("name", Came.SKIPPED, "no tls")),
        ("not ok 1 name # TODO later", ("name", Came.SKIPPED, "expected to fail: later")),
        ("ok 1 # XFAIL known", ("test 1", Came.PASSED, "expected to fail: known")),
        ("not ok 1 name # TIMEOUT 45 seconds", ("name", Came.FAILED, "timeout: 45 seconds")),
        ("not ok 1 name # exit=2", ("name", Came.FAILED, "exit=2")),
        (r"ok 1 issue \#12", ("issue #12", Came.PASSED, "")),
        ("ok 1 issue #12", ("issue #12", Came.PASSED, "")),
    ],
)
def test_a_line(line: str, expected: tuple[str, Came, str]) -> None:
    (test,) = read(f"1..1\n{line}").tests
    assert (test.name, test.came, test.why) == expected


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("TAP version 13\n1..3\nok 1 a\nok 2 b\n", "2 of 3 planned tests have a result"),
        ("TAP version 13\n", "it announced tests and reported none"),
        ("1..2\nok 1 a\nBail out! no network\n", "1 of 2 planned tests have a result; it bailed out: no network"),
        ("TAP version 14\nok 1 a\nok 2 b\n1..2\n", None),
        ("1..0 # SKIP needs root\n", None),
        # Two programs, one after the other.
        ("TAP version 13\n1..1\nok 1 a\nTAP version 13\n1..2\nok 1 b\n", "1 of 2 planned tests have a result"),
        ("1..1\nok 1 a\n1..1\nok 1 b\n", None),
        # The last subtest died before its result.
        ("KTAP version 1\n1..1\n  1..2\n  ok 1 a\nnot ok 1 b\n", "1 of its 2 tests failed, first `b / its subtests`"),
    ],
)
def test_missing_results(text: str, failure: str | None) -> None:
    assert read(text).failure == failure


@pytest.mark.parametrize("text", ["", "hello\n", "ok then\nnot ok\n", "1..4\n", "ok 1 a\nok 2 b\n", "1..10 seconds\n"])
def test_what_is_not_tap(text: str) -> None:
    assert read_tap(text.splitlines()) is None


def test_skipped_tests_alone() -> None:
    assert read("1..0 # SKIP needs root\n").is_skipped
    assert read("1..0 # SKIP needs root\n").tests[0].why == "needs root"
    assert read("TAP version 13\n1..1\nok 1 a # SKIP\n").is_skipped
    assert not read("TAP version 13\n1..2\nok 1 a # SKIP\nok 2 b\n").is_skipped


def test_a_file_of_a_run(tmp_path: Path) -> None:
    assert own_tests(tmp_path) is None
    (tmp_path / "command.out").write_bytes(b"")
    assert own_tests(tmp_path) is None
    (tmp_path / "command.out").write_bytes(b"\xff\x00before\n1..1\r\nok 1 \xff\r\n")
    found = own_tests(tmp_path)
    assert found is not None
    assert found.counts == {"passed": 1, "failed": 0, "skipped": 0}


def made(place: Path, **runs: tuple[str, str | None]) -> ResultDir:
    """A result with a run of each id: its status.json, and its output (None: it was not made)."""
    listed = ", ".join(
        f'{{"id": "{name}", "seed": {seed}, "point": {{"exec.env.Q": "{name}"}}}}'
        for seed, name in enumerate(runs, start=1)
    )
    place.mkdir(exist_ok=True)
    (place / "plan.json").write_text(f'{{"axes": ["exec.env.Q"], "runs": [{listed}]}}')
    for name, (status, printed) in runs.items():
        if printed is not None:
            run = place / "runs" / name
            run.mkdir(parents=True)
            (run / "status.json").write_text(status)
            (run / "command.out").write_text(printed)
    return ResultDir(place)


def test_junit_of_a_result(tmp_path: Path) -> None:
    ok = '{"status": "ok", "exit_code": 0, "duration_ns": 1500000000}'
    failed = '{"status": "failed", "reason": "1 of its 2 tests failed", "exit_code": 0, "duration_ns": 1}'
    code = '{"status": "failed", "reason": "the command ended with exit code 7", "exit_code": 7, "duration_ns": 1}'
    overdue = '{"status": "failed", "reason": "has not ended after 5 s of its time"}'
    result = made(
        tmp_path / "r",
        a=(ok, "hello \x1b[31mred\x1b[0m\n"),
        b=(failed, "1..2\nok 1 x\n# seen: 3\nnot ok 2 y\n"),
        c=(code, ""),
        d=(overdue, "1..1\nok 1 z # SKIP no z\n"),
        e=("", None),
    )
    root = ElementTree.fromstring(exec_junit(result))
    assert {key: root.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "8",
        "failures": "2",
        "errors": "1",
        "skipped": "2",
    }
    assert float(root.get("time", "")) == pytest.approx(1.500000002)
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == [f"exec.env.Q = {name}, seed {seed}" for seed, name in enumerate("abcde", start=1)]
    found = {
        (case.get("classname", "")[-11:-8], case.get("name")): [element.tag for element in case]
        for case in root.iter("testcase")
    }
    assert found == {
        ("= a", "the command"): [],
        ("= b", "the command"): [],
        ("= b", "x"): [],
        ("= b", "y"): ["failure"],
        ("= c", "the command"): ["failure"],
        ("= d", "the command"): ["error"],
        ("= d", "z"): ["skipped"],
        ("= e", "the command"): ["skipped"],
    }
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.text == "# seen: 3"
    assert suites["exec.env.Q = a, seed 1"].findtext("system-out") == "hello \ufffd[31mred\ufffd[0m"
