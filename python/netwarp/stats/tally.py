"""In how many of the seeds something held, and whether it can then hold in a share of all of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, comb, log

from netwarp.stats.intervals import CONFIDENCE, share_interval


@dataclass(frozen=True)
class Tally:
    """Something held in `held` of `seeds` seeds."""

    held: int
    seeds: int

    @property
    def text(self) -> str:
        """Such as `held with 17 of 20 seeds (95 % interval 62 to 97 %)`; of one seed there is no interval."""
        counted = f"held with {self.held} of {self.seeds} seed{'s' if self.seeds > 1 else ''}"
        if self.seeds < 2:
            return counted
        low, high = share_interval(self.held, self.seeds)
        return f"{counted} ({100 * CONFIDENCE:.0f} % interval {100 * low:.0f} to {100 * high:.0f} %)"

    def refutes(self, share: float) -> bool:
        """Whether so few or fewer would be rare, below 5 %, if it held in this share of all seeds (exact binomial)."""
        chance = sum(
            comb(self.seeds, held) * share**held * (1 - share) ** (self.seeds - held) for held in range(self.held + 1)
        )
        return chance < 1 - CONFIDENCE


def tally(judged: Iterable[tuple[int | None, bool]]) -> Tally:
    """Count the seeds that all that was judged of them speaks for, from pairs of a seed and whether it held there."""
    holds: dict[int | None, bool] = {}
    for seed, held in judged:
        holds[seed] = holds.get(seed, True) and held
    return Tally(sum(holds.values()), len(holds))


def fewest_seeds(share: float) -> int:
    """With fewer seeds nothing refutes the share: not even one that held with none of them."""
    return ceil(log(1 - CONFIDENCE) / log(1 - share))
