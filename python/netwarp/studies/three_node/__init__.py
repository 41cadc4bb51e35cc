"""The three-node study: a published study of 24 conditions, repeated; docs/three-node.md describes it."""

from pathlib import Path

from netwarp.studies.base import Export, Study

STUDY = Study(
    scenarios=Path(__file__).parent / "scenarios",
    views={"three-node": "netwarp.studies.three_node.view:write"},
    imports=("netwarp.studies.three_node.imports.result:import_result",),
    exports={
        "experiments": Export(
            "netwarp.studies.three_node.experiments:write_experiments",
            "the tree experiments/SCENARIO/SCENARIO_run_N/ that the scripts of the three-node study leave",
        )
    },
    commands={"recommend": "netwarp.studies.three_node.recommend:recommend"},
    # As in shorten_name() of the study's scripts: bw3+impairments_10_bbr_fq → "bw3 imp 10 bbr".
    short_words={
        "bwNORMAL": "norm",
        "bwNormal": "norm",
        "bw3Mbps": "bw3",
        r"[+_]impairments": " imp",
        r"_fq$": "",
    },
)
