"""The number of seeds in which a statement held, and whether it can then hold in a share of all seeds."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, comb, log

from netwarp.stats.intervals import CONFIDENCE, share_interval


@dataclass(frozen=True)
class Tally:
    """The count of a statement that held in `held` of `seeds` seeds."""

    held: int
    seeds: int

    @property
    def text(self) -> str:
        """The count in words: `held with 17 of 20 seeds (95 % interval 62 to 97 %)`; no interval for one seed."""
        counted = f"held with {self.held} of {self.seeds} seed{'s' if self.seeds > 1 else ''}"
        if self.seeds < 2:
            return counted
        low, high = share_interval(self.held, self.seeds)
        return f"{counted} ({100 * CONFIDENCE:.0f} % interval {100 * low:.0f} to {100 * high:.0f} %)"

    def refutes(self, share: float) -> bool:
        """Whether this few or fewer would have a probability below 5 % if the share were true (exact binomial)."""
        chance = sum(
            comb(self.seeds, held) * share**held * (1 - share) ** (self.seeds - held) for held in range(self.held + 1)
        )
        return chance < 1 - CONFIDENCE


def tally(judged: Iterable[tuple[int | None, bool]]) -> Tally:
    """Count the seeds in which every judgement held, from pairs of a seed and whether the statement held."""
    holds: dict[int | None, bool] = {}
    for seed, held in judged:
        holds[seed] = holds.get(seed, True) and held
    return Tally(sum(holds.values()), len(holds))


def fewest_seeds(share: float) -> int:
    """The fewest seeds that can refute the share, by a statement that held in none of them."""
    return ceil(log(1 - CONFIDENCE) / log(1 - share))
