"""The nightly tests; the programs of others run in Pythons with other packages."""

collect_ignore_glob = ["programs/*"]
