"""Finished stages of a long training, kept so that it goes on where it was interrupted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.optim import Optimizer

from weft.errors import ModelError, UsageError


class Stages:
    """Keep the weights of each stage in a directory; without one, keep nothing."""

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

    def has(self, stage: str) -> bool:
        """Tell whether a stage is finished."""
        return self.directory is not None and self._file(stage).exists()

    def load(self, stage: str, network: nn.Module, optimizer: Optimizer) -> bool:
        """Bring network and optimiser to the end of a stage, if it is finished; tell whether it is."""
        if not self.has(stage):
            return False
        try:
            tensors = load_file(self._file(stage))
            network.load_state_dict({name: tensors.pop(name) for name in network.state_dict()})
            for (name, state), (given, value) in zip(_state(optimizer), sorted(tensors.items()), strict=True):
                if name != given:
                    raise KeyError(name)
                state.copy_(value)
        except (OSError, SafetensorError, RuntimeError, KeyError, ValueError) as error:
            raise ModelError(f"{self._file(stage)}: cannot be used: {error}; remove it") from error
        return True

    def save(self, stage: str, network: nn.Module, optimizer: Optimizer) -> None:
        """Keep a stage that is finished."""
        if self.directory is not None:
            partial = self._file(stage).with_suffix(".partial")
            tensors = {**network.state_dict(), **dict(_state(optimizer))}
            save_file({name: value.contiguous().cpu() for name, value in tensors.items()}, partial)
            os.replace(partial, self._file(stage))

    def _file(self, stage: str) -> Path:
        assert self.directory is not None
        return self.directory / f"{stage.replace(' ', '-').replace('/', '-of-')}.safetensors"


def _state(optimizer: Optimizer) -> list[tuple[str, Tensor]]:
    """Name the tensors that an optimiser remembers."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    return sorted(
        (f"optimizer.{number}.{name}", value)
        for number, parameter in enumerate(parameters)
        for name, value in optimizer.state[parameter].items()
    )
