"""Finished epochs of a long training, kept so that it goes on where it was interrupted."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from bitweft.errors import ModelError, UsageError


class Stages:
    """Keep the last epoch of each stage in a directory; without one, keep nothing."""

    def __init__(self, directory: Path | None, about: dict[str, Any]) -> None:
        self.directory = directory
        if directory is None:
            return
        directory.mkdir(parents=True, exist_ok=True)
        file = directory / "checkpoints.json"
        text = json.dumps(about, indent=2, sort_keys=True) + "\n"
        if not file.exists():
            file.write_text(text, encoding="utf-8", newline="\n")
        elif file.read_text(encoding="utf-8") != text:
            raise UsageError(
                f"{directory}: the checkpoints of another training, text or configuration are here"
            )

    def epochs(self, stage: str) -> int:
        """Tell how many epochs of a stage are finished."""
        if self.directory is None:
            return 0
        kept = self.directory.glob(f"{_slug(stage)}.*.safetensors")
        return max((int(file.name.split(".")[-2]) for file in kept), default=0)

    def load(self, stage: str, network: nn.Module, optimizers: Sequence[Optimizer]) -> int:
        """Bring network and optimisers to the last finished epoch of a stage; tell which, 0 for none."""
        epoch = self.epochs(stage)
        if not epoch:
            return 0
        file = self._file(stage, epoch)
        try:
            tensors = load_file(file)
            network.load_state_dict({name: tensors.pop(name) for name in network.state_dict()})
            for name, value in tensors.items():
                _, optimizer, parameter, key = name.split(".")
                own = _parameters(optimizers[int(optimizer)])[int(parameter)]
                optimizers[int(optimizer)].state[own][key] = value.to(own.device)
        except (OSError, SafetensorError, RuntimeError, KeyError, ValueError, IndexError) as error:
            raise ModelError(f"{file}: cannot be used: {error}; remove it") from error
        return epoch

    def save(self, stage: str, epoch: int, network: nn.Module, optimizers: Sequence[Optimizer]) -> None:
        """Keep an epoch that is finished, instead of the one before."""
        if self.directory is None:
            return
        file = self._file(stage, epoch)
        partial = file.with_suffix(".partial")
        tensors = {**network.state_dict(), **dict(_state(optimizers))}
        save_file({name: value.contiguous().cpu() for name, value in tensors.items()}, partial)
        os.replace(partial, file)
        self._file(stage, epoch - 1).unlink(missing_ok=True)

    def _file(self, stage: str, epoch: int) -> Path:
        assert self.directory is not None
        return self.directory / f"{_slug(stage)}.{epoch}.safetensors"


def _slug(stage: str) -> str:
    return stage.replace(" ", "-").replace("/", "-of-")


def _parameters(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _state(optimizers: Sequence[Optimizer]) -> list[tuple[str, Tensor]]:
    """Name the tensors that optimisers remember."""
    return [
        (f"optimizer.{number}.{place}.{name}", value)
        for number, optimizer in enumerate(optimizers)
        for place, parameter in enumerate(_parameters(optimizer))
        for name, value in optimizer.state[parameter].items()
    ]
