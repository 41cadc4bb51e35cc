"""The page of agreement: compared quantities, and those that could not be compared."""

import pytest
from netwarp.steps.agreement import Agreement, page, sides
from netwarp.store.errors import SelectionError


def test_what_could_not_be_compared_is_on_the_page_with_the_reason() -> None:
    found = [
        Agreement("red", reasons=("this kernel has no red",)),
        Agreement("short", settings=('links.a.delay="0ms"',), reasons=("host: 6 of 6 runs suspect",)),
    ]
    text = page(found, sides(None, None), "Linux 6.18")
    assert text.startswith("# How far the engines uml and host agree\n")
    assert "on Linux 6.18." in text
    assert "| red | – | – | – | – |" in text
    assert "Not compared:\n- this kernel has no red\n" in text
    assert 'With `--set links.a.delay="0ms"`.' in text


@pytest.mark.parametrize(
    ("engines", "wires", "problem"),
    [
        ("uml", None, "does not name two engines"),
        ("uml,uml", None, "does not name two engines"),
        (None, "device", "does not name two wires; expected a pair such as netem,device"),
        (None, "netem,cable", 'no wire "cable"'),
        ("uml,host", "netem,device", "on one engine"),
    ],
)
def test_what_are_not_two_sides_is_refused(engines: str | None, wires: str | None, problem: str) -> None:
    with pytest.raises(SelectionError, match=problem):
        sides(engines, wires)


def test_the_page_of_wires_names_them() -> None:
    text = page([], sides(None, "netem,device"), "Linux 6.18")
    assert text.startswith("# How far the wires netem and device agree\n")
    assert "`netwarp agree --wires netem,device --page FILE`" in text
    assert "recorded exactly" in text
