"""Where tensors are worked on."""

from __future__ import annotations

from bitweft.errors import UsageError
from bitweft.extras import needs


def check_device(device: str) -> None:
    """Refuse a device that there is not; the CPU is always there, and is not asked."""
    if device == "cpu":
        return
    with needs("paper"):
        import torch

    try:
        torch.zeros(1, device=device).tolist()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().partition("\n")[0].partition(". ")[0]
        raise UsageError(f"the device {device!r} cannot be used on this machine: {reason}") from error
