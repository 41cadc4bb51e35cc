"""`python -m netwarp` is the command `netwarp`."""

import sys

from netwarp.cli import main

sys.exit(main())
