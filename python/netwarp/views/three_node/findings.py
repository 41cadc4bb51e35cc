"""What becomes of the study's statements: each claim judged from our seeds and the published means, and its advice."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from netwarp.store.files import write_text
from netwarp.store.findings import Finding, Holds
from netwarp.views.three_node.claims import Claim, Recommendation, load
from netwarp.views.three_node.judgement import Judged, judge, judge_published
from netwarp.views.three_node.published import published
from netwarp.views.three_node.tables import Condition

_PUBLISHED_IN_OUR_UNIT = {"ss_avg_cwnd": 1024.0}
"""Windows were printed in packets / 1024."""


def check(conditions: Sequence[Condition]) -> list[Finding]:
    """Every claim checked against our runs, beside what the published means say of it; then the recommendations."""
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
    return found + [_advice(one, judged, texts) for one in advice]


def _finding(claim: Claim, ours: Judged, theirs: Judged | None) -> Finding:
    published = None
    if theirs is not None:
        published = theirs.words if theirs.holds is Holds.YES else f"{theirs.holds}: {theirs.words}"
    return Finding(claim.text, ours.holds, ours.words, published, claim.source)


def _advice(one: Recommendation, judged: Mapping[str, Judged], texts: Mapping[str, str]) -> Finding:
    """A recommendation is as good as its grounds: all hold, or one does not hold, or it is inconclusive."""
    by_verdict = {verdict: [texts[id_] for id_ in one.grounds if judged[id_].holds is verdict] for verdict in Holds}
    verdict = next((bad for bad in (Holds.NO, Holds.INCONCLUSIVE) if by_verdict[bad]), Holds.YES)
    words = [f"{len(by_verdict[Holds.YES])} of its {len(one.grounds)} grounds hold"]
    for bad in (Holds.NO, Holds.INCONCLUSIVE):
        words += [f"{bad}: {text}" for text in by_verdict[bad]]
    words.append(f"not measured: {one.beyond}")
    return Finding(f"recommended – {one.text}", verdict, "; ".join(words), None, one.source)


def write_table(folder: Path, findings: Sequence[Finding]) -> Path:
    """Write the findings as a table to read, `findings.md`; returns its path. Raises StoreError."""
    counts = {verdict: sum(found.judgement is verdict for found in findings) for verdict in Holds}
    head = ", ".join(f"{number} {_PLURAL[verdict]}" for verdict, number in counts.items())
    lines = [
        f"Of {len(findings)} statements {head}. docs/three-node.md states the rule.",
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


_PLURAL = {Holds.YES: "hold", Holds.NO: "do not hold", Holds.INCONCLUSIVE: "are inconclusive"}
