"""Values that stand for themselves or in a list of which any matches."""


def listed(value: object) -> tuple[object, ...]:
    """The values of which any matches: those of a tuple, or the value itself."""
    return value if isinstance(value, tuple) else (value,)
