"""What a long job says about itself while it runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """Tell how far a job is: `step` of `total` in `phase`, and the loss since the last report."""

    step: int
    total: int
    phase: str
    loss: float | None = None
