"""The page of agreement: compared quantities, and those that could not be compared."""

from netwarp.steps.agreement import Agreement, page


def test_what_could_not_be_compared_is_on_the_page_with_the_reason() -> None:
    found = [
        Agreement("red", reasons=("this kernel has no red",)),
        Agreement("short", settings=('links.a.delay="0ms"',), reasons=("host: 6 of 6 runs suspect",)),
    ]
    text = page(found, ["uml", "host"], "Linux 6.18")
    assert text.startswith("# How far the engines uml and host agree\n")
    assert "on Linux 6.18." in text
    assert "| red | – | – | – | – |" in text
    assert "Not compared:\n- this kernel has no red\n" in text
    assert 'With `--set links.a.delay="0ms"`.' in text
