"""The wheels of a release: `python -m tools.dist` builds them in a root of Debian 12, twice, and checks them."""
