"""A plugin for pytest: tests in machines of netwarp, in a scenario's network and in virtual time (docs/testing.md).

pytest loads `plugin`. It sends a test to `machine`, which runs it in its own machine. There a second
pytest (`inside`) runs this one test, and its reports become those of the first. `network` is a test's view of the
lab.
"""
