"""Tables and charts in Markdown."""

from netwarp.common import markdown
from rich.table import Table
from rich.text import Text


def test_text_is_no_markup() -> None:
    assert markdown.escaped("a_b | <c> *d*\n`e` [f](g) $h$") == r"a\_b \| \<c\> \*d\* \`e\` \[f\](g) \$h\$"


def test_a_table() -> None:
    table = Table()
    table.add_column(Text("link | queue"))
    table.add_column("rate\nMbit/s", justify="right")
    table.add_row(Text("one"), Text("9.5\n[9, 10]"))
    assert markdown.table(table).splitlines() == [
        r"| link \| queue | rate<br>Mbit/s |",
        "| --- | ---: |",
        r"| one | 9.5<br>\[9, 10\] |",
    ]


def test_a_chart() -> None:
    lines = markdown.chart('RTT of "x"', "RTT (ms)", ["a", "b"], [10, 2.5], [9, 3]).splitlines()
    assert lines == [
        "```mermaid",
        "xychart-beta",
        "    title \"RTT of 'x'\"",
        '    x-axis ["a", "b"]',
        '    y-axis "RTT (ms)" 0 --> 11',
        "    bar [10, 2.5]",
        "    line [9, 3]",
        "```",
    ]
    assert '    y-axis "loss" 0 --> 1' in markdown.chart("loss", "loss", ["a"], [0]).splitlines(), (
        "an axis has a length"
    )
