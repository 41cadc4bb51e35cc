"""`netwarp self-test`: whether this installation makes the records that it should."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from netwarp.cli.common import FAILED_EXPECTATION, FAILED_RUN, OK, errors, print_json, stdout
from netwarp.cli.options import Flag, Kernel

if TYPE_CHECKING:
    from netwarp.steps.self_test import Checked, SelfTest


def self_test(*, kernel: Kernel = None, json: Flag = False) -> int:
    """Run two small labs and compare the bytes of their records with digests that come with netwarp.

    It takes a few seconds. The digests belong to the kernel and the tools of this version's wheels: with others, each
    lab is run twice, and the two are compared. Exit code 1 if bytes differ, 3 if a lab failed. See docs/install.md.

    Parameters
    ----------
    json
        Print the findings as JSON.
    """
    with errors():
        from netwarp.steps.self_test import Verdict
        from netwarp.steps.self_test import self_test as self_test_

        found = self_test_(kernel)
        if json:
            print_json({"ok": found.ok, **asdict(found)})
        else:
            _print(found)
        if found.ok:
            return OK
        return FAILED_RUN if any(lab.verdict is Verdict.FAILED for lab in found.labs) else FAILED_EXPECTATION


def _print(found: "SelfTest") -> None:
    from netwarp.steps.self_test import ABOUT

    out = stdout()

    def line(text: str, style: str | None = None) -> None:
        out.print(text, style=style, soft_wrap=True, highlight=False)

    for lab in found.labs:
        mark, style = ("✓", "green") if lab.ok else ("✗", "red")
        out.print(mark, style=style, end=" ")
        line(f"{lab.lab} ({ABOUT[lab.lab]}): {_words(lab)}")
    if found.unknown:
        line(f"There are no digests for this installation: {'; '.join(found.unknown)}. Each lab was run twice instead.")
    for text in _advice(found):
        line(text)
    line(f"{'Works' if found.ok else 'Does not work as it should'}: Linux {found.kernel}, {found.seconds:.1f} s")


def _words(lab: "Checked") -> str:
    from netwarp.steps.self_test import Verdict

    one, files = lab.files == 1, f"{lab.files} files of records"
    if lab.verdict is Verdict.SAME:
        return "its output is as it should be" if one else f"{files} have the bytes that they should have"
    if lab.verdict is Verdict.REPEATED:
        return "its output is the same in two runs" if one else f"{files} have the same bytes in two runs"
    if lab.verdict is Verdict.FAILED:
        return f"the run failed: {lab.reason}"
    differ = ", ".join(lab.differing)
    if lab.verdict is Verdict.OTHER:
        return f"other bytes than they should be, the same in two runs: {differ}"
    return f"two runs have different bytes: {differ}"


def _advice(found: "SelfTest") -> list[str]:
    from netwarp.steps.doctor import diagnose
    from netwarp.steps.self_test import Verdict

    verdicts = {lab.verdict for lab in found.labs}
    said = []
    if Verdict.OTHER in verdicts:
        said.append(
            "Results can be repeated on this machine, but not compared to the byte with those of others. Causes: a "
            "changed copy of netwarp, its agent of another version (`pip install --force-reinstall netwarp`), "
            f"or a kernel of another compiler (this: {found.compiler}; the digests': {found.compiler_of_digests})."
        )
    if Verdict.NOT_REPEATED in verdicts:
        said.append(
            "Results of this machine cannot be repeated. This should not happen: please report it, with the output of "
            "`netwarp self-test --json` and `netwarp doctor --json`. Faulty memory or an overclocked CPU can cause it."
        )
    if not found.ok:
        said += [f"{one.name}: {one.detail} Fix: {one.fix}" for one in diagnose() if not one.ok]
    return said
