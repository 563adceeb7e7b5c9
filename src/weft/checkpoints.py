"""Finished stages of a long training, kept so that it goes on where it was interrupted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from weft.errors import ModelError, UsageError


class Checkpoints:
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

    def load(self, stage: str, network: nn.Module) -> bool:
        """Give the network the weights of a finished stage; tell whether there were any."""
        if self.directory is None or not self._file(stage).exists():
            return False
        try:
            network.load_state_dict(load_file(self._file(stage)))
        except (OSError, SafetensorError, RuntimeError) as error:
            raise ModelError(f"{self._file(stage)}: cannot be used: {error}; remove it") from error
        return True

    def save(self, stage: str, network: nn.Module) -> None:
        """Keep the weights of a stage that is finished."""
        if self.directory is not None:
            partial = self._file(stage).with_suffix(".partial")
            tensors = {name: value.contiguous().cpu() for name, value in network.state_dict().items()}
            save_file(tensors, partial)
            os.replace(partial, self._file(stage))

    def _file(self, stage: str) -> Path:
        assert self.directory is not None
        return self.directory / f"{stage.replace(' ', '-').replace('/', '-of-')}.safetensors"
