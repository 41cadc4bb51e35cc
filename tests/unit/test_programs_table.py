"""The table of programs of others: its scripts, and its copy in docs/exec.md."""

from __future__ import annotations

from bench.programs import BEGIN, END, FOLDER, ROOT, Outcome, Program, programs, table

PAGE = (ROOT / "docs" / "exec.md").read_text()
SHARED = {"net", "ospf_times"}


def test_every_script_has_its_line() -> None:
    names = [program.name for program in programs()]
    assert len(names) == len(set(names))
    assert {path.stem for path in FOLDER.glob("*.sh")} - SHARED == set(names)


def test_every_number_says_where_it_comes_from() -> None:
    for program in programs():
        assert program.numbers, program.name
        assert all(number.why for number in program.numbers), program.name


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in text.splitlines() if line.startswith("|")][2:]


def blank(program: Program) -> Outcome:
    return Outcome(
        program, (0, 0), None, same=True, numbers={number.name: number.expected for number in program.numbers}
    )


def test_the_page_has_the_table_of_the_test() -> None:
    """Programs, numbers and expectations are those of the table; measured values are as expected."""
    begin, end = PAGE.index(BEGIN), PAGE.index(END)
    shown = rows(PAGE[begin:end])
    wanted = rows(table([blank(program) for program in programs()]))
    assert [row[:4] for row in shown] == [row[:4] for row in wanted]
    numbers = [(program, number) for program in programs() for number in program.numbers]
    for row, (program, number) in zip(shown, numbers, strict=True):
        if not program.needs:
            assert number.holds(float(row[4].split()[0])), row
