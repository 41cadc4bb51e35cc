"""A process that draws: it reads lists of tasks from standard input, and answers with their files or an error."""

import pickle
import sys
import threading
from pathlib import Path

from netwarp.plots.helpers import receive, send
from netwarp.plots.timeseries.tasks import draw, load
from netwarp.store.errors import StoreError


def main() -> None:
    """Draw the parent's tasks until it closes the pipe."""
    # In a thread, so that a request is read at once and the parent continues.
    loading = threading.Thread(target=load)
    loading.start()
    while content := receive(sys.stdin.buffer):
        loading.join()
        try:
            answer: list[Path] | str = draw(pickle.loads(content))
        except StoreError as error:
            answer = str(error)
        send(sys.stdout.buffer, answer)


if __name__ == "__main__":
    main()
