"""Finished epochs of a long training, kept so that it goes on where it was interrupted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bitweft.errors import ModelError
from bitweft.storage.checkpoint import Checkpoint

REMEMBERED = ("squares", "step", "exp_avg", "exp_avg_sq")  # by the optimizers, of a parameter


class Stages:
    """Keep the last epoch of each stage of training, as a state of a checkpoint; without one, keep nothing.

    With an epoch goes what it came to, a line of the model's record.
    """

    def __init__(self, checkpoint: Checkpoint | None, about: Mapping[str, Any]) -> None:
        """Take the place to keep epochs in, and what the training is of: other checkpoints are refused."""
        self.checkpoint = checkpoint
        self.about = about

    def epochs(self, stage: str) -> int:
        """Tell how many epochs of a stage were kept."""
        return 0 if (kept := self._kept(stage)) is None else kept[1]

    def record(self, stage: str) -> dict[str, Any] | None:
        """Return what the last epoch of a stage that was kept came to, if there is one."""
        return None if (kept := self._kept(stage)) is None else kept[2]

    def load(self, stage: str, network: nn.Module, optimizers: Sequence[Optimizer]) -> int:
        """Bring network and optimizers to the last epoch of a stage that was kept; tell which, 0 for none.

        Raises:
            ModelError: what was kept is damaged, or is of another training.
        """
        kept = self._kept(stage)
        if kept is None:
            return 0
        tensors, epoch, _ = kept
        try:
            _check(tensors, network, optimizers)
        except (ValueError, IndexError, KeyError) as error:
            assert self.checkpoint is not None
            path = self.checkpoint.path(_slug(stage))
            raise ModelError(f"{path}: cannot be used: {error}; remove it") from error
        network.load_state_dict({name: tensors.pop(name) for name in network.state_dict()})
        for name, value in tensors.items():
            _, optimizer, place, key = name.split(".")
            own = _parameters(optimizers[int(optimizer)])[int(place)]
            optimizers[int(optimizer)].state[own][key] = value.to(own.device)
        return epoch

    def save(
        self,
        stage: str,
        epoch: int,
        networks: tuple[nn.Module, Sequence[Optimizer]],
        record: Mapping[str, Any] | None,
        *,
        last: bool,
    ) -> None:
        """Keep an epoch that is finished instead of the one before, if it is time or the stage's last."""
        if self.checkpoint is None or not (last or self.checkpoint.due()):
            return
        network, optimizers = networks
        tensors = {**network.state_dict(), **dict(_state(optimizers))}
        arrays = {name: value.contiguous().cpu().numpy() for name, value in tensors.items()}
        self.checkpoint.keep(arrays, {**self.about, "epoch": epoch, "record": record}, _slug(stage))

    def _kept(self, stage: str) -> tuple[dict[str, Tensor], int, dict[str, Any] | None] | None:
        kept = None if self.checkpoint is None else self.checkpoint.load(self.about, _slug(stage))
        if kept is None:
            return None
        arrays, facts = kept
        epoch, record = facts.get("epoch"), facts.get("record")
        if type(epoch) is not int or epoch < 0 or not isinstance(record, dict | None):
            assert self.checkpoint is not None
            raise ModelError(f"{self.checkpoint.path(_slug(stage))}: the checkpoint is damaged: no epoch")
        return {name: torch.from_numpy(array) for name, array in arrays.items()}, epoch, record


def _slug(stage: str) -> str:
    """Name the file of a stage, `forward 2/4 words`, by its network, of however many."""
    return re.sub(r"/\d+", "", stage).replace(" ", "-")


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _state(optimizers: Sequence[Optimizer]) -> list[tuple[str, Tensor]]:
    """Name the tensors that optimizers remember."""
    return [
        (f"optimizer.{number}.{place}.{name}", value)
        for number, optimizer in enumerate(optimizers)
        for place, parameter in enumerate(_parameters(optimizer))
        for name, value in optimizer.state[parameter].items()
    ]


def _check(tensors: Mapping[str, Tensor], network: nn.Module, optimizers: Sequence[Optimizer]) -> None:
    """Refuse tensors that are not those of this network and these optimizers."""
    own = network.state_dict()
    for name in own.keys() - tensors.keys():
        raise KeyError(name)
    for name, value in tensors.items():
        if name in own:
            fits = value.shape == own[name].shape and value.dtype == own[name].dtype
        else:
            _, optimizer, place, key = name.split(".")
            parameter = _parameters(optimizers[int(optimizer)])[int(place)]
            shape = torch.Size() if key == "step" else parameter.shape
            fits = key in REMEMBERED and value.shape == shape and value.dtype == torch.float32
        if not fits or not torch.isfinite(value).all():
            raise ValueError(f"{name} is not of this network, or contains NaN or infinity")
