"""Steps of learning, one after the other, by a team of threads."""

from __future__ import annotations

from typing import NamedTuple

from bitweft.recipes.compile import compiled
from bitweft.recipes.default.compiled.adam import update
from bitweft.recipes.default.compiled.gradients import gradients
from bitweft.recipes.default.compiled.team import Team, meet, next_task
from bitweft.recipes.default.compiled.types import Adam, AdamRoom, Doubles, Longs, Margin, Side, Step


class Batches(NamedTuple):
    """Hold the pairs of some steps: group g of step n is `pairs[bounds[n, g]:bounds[n, g + 1]]`."""

    pairs: Longs
    bounds: Longs  # (steps, groups + 1): a step with fewer groups has its last bound again
    rates: Doubles  # (steps)


@compiled(entry=True)
def descend(
    sides: tuple[Side, Side],
    adams: tuple[Adam, Adam],
    rooms: tuple[AdamRoom, AdamRoom],
    margin: Margin,
    batches: Batches,
    out: Step,
    team: Team,
) -> bool:
    """Take some steps: of each, find the gradients group by group, then change the tables by them.

    The threads of the team share out groups, and then the rows of both tables; what comes of it does not
    depend on how many they are.

    Returns:
        Whether all threads came to the end.
    """
    parts = max(1, team.size // 2)  # of the rows of each table
    both = (out.source, out.target)
    for step in range(len(batches.bounds)):
        bounds = batches.bounds[step]
        groups = len(bounds) - 1
        while groups and bounds[groups] == bounds[groups - 1]:
            groups -= 1
        group = next_task(team, 2 * step)
        while group < groups:
            _place(sides, batches.pairs, bounds, group, out)
            gradients(sides, batches.pairs[bounds[group] : bounds[group + 1]], margin, group, out)
            group = next_task(team, 2 * step)
        if not meet(team, 2 * step):
            return False
        rate = batches.rates[step]
        for task in range(team.own, 2 * parts, team.size):
            n, part = task % 2, (task // 2, parts)
            update(sides[n], both[n], groups, adams[n], rate, rooms[n], part)
        if not meet(team, 2 * step + 1):
            return False
    return True


@compiled()
def _place(sides: tuple[Side, Side], pairs: Longs, bounds: Longs, group: int, out: Step) -> None:
    """Say where the gradient of a group is to stand: behind room for all words of the groups before it."""
    source = target = 0
    for at in range(bounds[0], bounds[group]):
        source += sides[0].offsets[pairs[at] + 1] - sides[0].offsets[pairs[at]]
        target += sides[1].offsets[pairs[at] + 1] - sides[1].offsets[pairs[at]]
    out.source.starts[group] = source
    out.target.starts[group] = target
