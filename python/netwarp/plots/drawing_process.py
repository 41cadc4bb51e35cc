"""A process that draws: it takes lists of tasks on standard input, and answers with their files or an error."""

import pickle
import sys
import threading
from importlib import import_module
from pathlib import Path

from netwarp.plots.helpers import receive, send
from netwarp.plots.timeseries.tasks import draw
from netwarp.store.errors import StoreError


def main() -> None:
    """Draw what the parent asks for until it closes the pipe."""
    # In a thread, so that a request is read at once and the parent goes on.
    loading = threading.Thread(target=_load)
    loading.start()
    while content := receive(sys.stdin.buffer):
        loading.join()
        try:
            answer: list[Path] | str = draw(pickle.loads(content))
        except StoreError as error:
            answer = str(error)
        send(sys.stdout.buffer, answer)


def _load() -> None:
    """Load what draws figures and writes them."""
    for module in ("timeseries.stack", "charts.kinds"):
        import_module(f"netwarp.plots.{module}")
    for kind in ("agg", "svg"):
        import_module(f"matplotlib.backends.backend_{kind}")


if __name__ == "__main__":
    main()
