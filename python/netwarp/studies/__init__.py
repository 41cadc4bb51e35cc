"""Studies: what belongs to one question alone, beside the core, which knows none of them.

`base.py` says what a study may offer, `registry.py` finds those that are installed. Each folder here is a study.
"""
