"""Judges the study's statements: each claim from our seeds and the published means, and its advice."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from netwarp.store.files import write_text
from netwarp.store.findings import Finding, Holds
from netwarp.studies.three_node.claims import Claim, Note, Recommendation, load, load_note
from netwarp.studies.three_node.judgement import Judged, judge, judge_published
from netwarp.studies.three_node.published import published
from netwarp.studies.three_node.tables import Condition

_PUBLISHED_IN_OUR_UNIT = {"ss_avg_cwnd": 1024.0}
"""The factor from published values to our unit: windows were printed in packets / 1024."""


def check(conditions: Sequence[Condition]) -> list[Finding]:
    """Check every claim against our runs and the published means, then the recommendations."""
    claims, advice = load()
    ours = {condition.name: condition for condition in conditions}
    theirs = published()

    def read_ours(name: str, column: str) -> dict[int, float]:
        return ours[name].by_seed(column) if name in ours else {}

    def read_theirs(name: str, column: str) -> float:
        return theirs[name][column] * _PUBLISHED_IN_OUR_UNIT.get(column, 1.0)

    judged = {claim.id: judge(claim, read_ours) for claim in claims}
    found = [_finding(claim, judged[claim.id], judge_published(claim, read_theirs)) for claim in claims]
    texts = {claim.id: claim.text for claim in claims}
    found += [_advice(one, judged, texts) for one in advice]
    note = load_note()
    if ours.keys().isdisjoint(note.instead.values()):
        return found

    def read_by_note(name: str, column: str) -> dict[int, float]:
        return read_ours(note.instead.get(name, name), column)

    about = [claim for claim in claims if not note.instead.keys().isdisjoint(claim.rows)]
    return found + [_by_note(note, claim, judge(claim, read_by_note), judged[claim.id]) for claim in about]


def _by_note(note: Note, claim: Claim, by_note: Judged, before: Judged) -> Finding:
    """The finding on a claim if the study's note on its rows is right."""
    same = "as without the note" if by_note.holds is before.holds else f"without the note: {before.holds}"
    return Finding(f"{note.text}: {claim.text}", by_note.holds, f"{by_note.words}; {same}", None, note.source)


def _finding(claim: Claim, ours: Judged, theirs: Judged | None) -> Finding:
    published = None
    if theirs is not None:
        as_stated = theirs.holds in (Holds.YES, Holds.WITHIN)
        published = theirs.words if as_stated else f"{theirs.holds}: {theirs.words}"
    return Finding(claim.text, ours.holds, ours.words, published, claim.source)


def _advice(one: Recommendation, judged: Mapping[str, Judged], texts: Mapping[str, str]) -> Finding:
    """Judge a recommendation by its grounds: all hold, one does not hold, or one cannot be told."""
    grounds = [(judged[id_].holds, texts[id_]) for id_ in one.grounds]
    against = [f"{holds}: {text}" for holds, text in grounds if holds.contradicts]
    unknown = [f"{holds}: {text}" for holds, text in grounds if holds is Holds.INCONCLUSIVE]
    verdict = Holds.NO if against else Holds.INCONCLUSIVE if unknown else Holds.YES
    holding = sum(holds.supports for holds, _ in grounds)
    words = [f"{holding} of its {len(grounds)} grounds hold", *against, *unknown, f"not measured: {one.beyond}"]
    return Finding(f"recommended – {one.text}", verdict, "; ".join(words), None, one.source)


def write_table(folder: Path, findings: Sequence[Finding]) -> Path:
    """Write the findings as a table to read, `findings.md`; return its path. Raises StoreError."""
    note = load_note()
    by_note = [found for found in findings if found.source == note.source]
    lines = [
        f"{_counted([found for found in findings if found.source != note.source])} docs/three-node.md states the rule.",
        *([f"The study notes that {note.text}. If so: {_counted(by_note)}"] if by_note else []),
        "",
        "| where | statement | | here | published |",
        "|---|---|---|---|---|",
    ]
    for found in findings:
        cells = (found.source, found.finding, f"**{found.judgement}**", found.measured, found.published)
        lines.append("| " + " | ".join((cell or "–").replace("|", "\\|") for cell in cells) + " |")
    path = folder / "findings.md"
    write_text(path, "\n".join(lines) + "\n")
    return path


def _counted(findings: Sequence[Finding]) -> str:
    counts = {verdict: sum(found.judgement is verdict for found in findings) for verdict in Holds}
    words = [f"{number} {_PLURAL[verdict]}" for verdict, number in counts.items() if number]
    return f"Of {len(findings)} statements {', '.join(words)}."


_PLURAL = {
    Holds.YES: "hold",
    Holds.WITHIN: "are within their range",
    Holds.BETTER: "are better than stated",
    Holds.NO: "do not hold",
    Holds.WORSE: "are worse than stated",
    Holds.INCONCLUSIVE: "cannot be told",
}
