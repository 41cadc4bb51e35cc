"""Studies: the parts that serve one question, beside the core, which knows none of them.

`base.py` defines what a study may offer, `registry.py` finds the installed studies. Each folder here is a study.
"""
