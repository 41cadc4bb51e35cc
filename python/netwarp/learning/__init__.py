"""Gymnasium environments on the real Linux stack, which importing this package registers.

    import gymnasium
    import netwarp.learning

    env = gymnasium.make("netwarp/CongestionControl-v0", scenario="bufferbloat")

The extra `netwarp[learn]` installs Gymnasium.
"""

from __future__ import annotations

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"netwarp.learning needs the package {error.name}, which is not installed: pip install 'netwarp[learn]'"
    ) from error

ENVIRONMENT = "netwarp/CongestionControl-v0"

if ENVIRONMENT not in gymnasium.registry:
    gymnasium.register(id=ENVIRONMENT, entry_point="netwarp.learning.environment:CongestionControl")
