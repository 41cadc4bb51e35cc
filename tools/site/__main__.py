"""Build the site of the documentation: `python -m tools.site --generator FOLDER`.

FOLDER has the programs of the site's environment (`make site` makes it). The site is in site/ afterwards: it needs no
server and no network. A page or a notebook that fails, a warning of the generator, or a link that leads nowhere ends
the build with 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from nbclient.exceptions import CellExecutionError

from tools.site import contents, notebooks, places
from tools.site import tree as pages

TREE = places.ROOT / ".site"
"""The pages and the settings for the generator."""


def main() -> int:
    """Write the pages, then the site."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generator", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--out", type=Path, default=places.ROOT / "site", help="the site's folder (default: site/)")
    options = parser.parse_args()
    shutil.rmtree(TREE, ignore_errors=True)
    pages.write(TREE / "docs")
    try:
        for notebook in pages.notebooks():
            notebooks.write(TREE / "docs", notebook, options.generator.absolute())
        build(TREE, options.generator.absolute(), options.out.absolute())
    except CellExecutionError as error:
        print(f"The site was not built: a notebook failed.\n{error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"The site was not built: {Path(error.cmd[0]).name} failed; see above.", file=sys.stderr)
        return 1
    return 0


def build(tree: Path, generator: Path, out: Path) -> None:
    """Run the generator on a tree of pages. Raises subprocess.CalledProcessError, for a warning as well."""
    own = {"docs_dir": "docs", "site_dir": str(out), "nav": contents.for_generator("Home")}
    # JSON is YAML.
    settings = [(places.ROOT / "mkdocs.yml").read_text(), *(f"{key}: {json.dumps(own[key])}\n" for key in own)]
    (tree / "mkdocs.yml").write_text("".join(settings))
    # Without the variable the theme prints a notice about MkDocs 2.
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    subprocess.run([generator / "mkdocs", "build", "--strict", "--clean"], cwd=tree, env=quiet, check=True)


if __name__ == "__main__":
    sys.exit(main())
