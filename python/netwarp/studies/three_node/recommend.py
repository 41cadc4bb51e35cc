"""`netwarp recommend`."""

import json as json_
from dataclasses import asdict

from netwarp.cli.common import OK, errors, stdout, write_json
from netwarp.cli.options import Flag, Result


def recommend(result: Result, /, *, json: Flag = False) -> int:
    """Recommend congestion control and queue by environment, from the measurements of a three-node study or an import.

    Each sentence follows from a rule over the records, with its numbers: which control and queue, pro and contra,
    applications and cautions, and where the published study is contradicted. See docs/three-node.md.

    Parameters
    ----------
    result
        A result of three-node, of a scenario of that shape, or of `netwarp import`.
    json
        Print the sentences as JSON.
    """
    with errors():
        from netwarp.store.errors import SelectionError
        from netwarp.store.result import open_verified
        from netwarp.studies.three_node.columns import ROLES
        from netwarp.studies.three_node.recommendations import as_markdown
        from netwarp.studies.three_node.tables import conditions_of
        from netwarp.studies.three_node.view import sentences_of

        opened = open_verified(result)
        nodes = {node for run in opened.good for node in opened.run(run.id).network.nodes}
        if not set(ROLES) <= nodes:
            raise SelectionError(
                f"{result} is not a three-node study: its nodes are {', '.join(sorted(nodes)) or 'unknown'}, not "
                f"{', '.join(ROLES)}; `netwarp advise` recommends for any environment"
            )
        sentences = sentences_of(conditions_of(opened))
        if json:
            write_json(json_.dumps([asdict(one) for one in sentences], indent=2, ensure_ascii=False))
            return OK
        out = stdout()
        for line in as_markdown(sentences):
            out.print(line, soft_wrap=True)
        return OK
