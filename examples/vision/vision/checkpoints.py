# SPDX-License-Identifier: Apache-2.0
"""Models as files: one after each round, and the last one. They are read with weights_only, so that reading one executes nothing."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from .task import Weights

MODEL = "model.pt"
ROUND = re.compile(r"round-\d{4,}\.pt")


@dataclass(frozen=True)
class Checkpoint:
    """Weights, and the round after which they were written; 0 for a model that is only to start from."""

    weights: Weights
    round: int = 0


def save(path: Path, content: Any) -> None:
    """Write a file that is complete or not there, whenever the process ends."""
    partial = path.with_name(f".{path.name}.part")
    with partial.open("wb") as file:
        torch.save(content, file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def save_round(folder: Path, checkpoint: Checkpoint) -> None:
    """Write the checkpoint of a round."""
    save(folder / f"round-{checkpoint.round:04}.pt", {"round": checkpoint.round, "weights": checkpoint.weights})


def load(path: Path) -> Checkpoint:
    """Read a checkpoint, or a model, which is weights alone."""
    content = torch.load(path, map_location="cpu", weights_only=True)
    return Checkpoint(content["weights"], int(content["round"])) if "round" in content else Checkpoint(content)


def start(outputs: Path | None, resume_run: str, inputs: str) -> Checkpoint | None:
    """The checkpoint that a run goes on from.

    Args:
        outputs: folder with the outputs of all runs (C(FLOWER_OUTPUTS_DIR)).
        resume_run: id of an earlier run, or empty.
        inputs: path of a file below C(outputs), or empty.

    Raises:
        ValueError: both are set, or one leads out of C(outputs).
        FileNotFoundError: the earlier run has no checkpoint, or there is no such file.
    """
    if not resume_run and not inputs:
        return None
    if resume_run and inputs:
        raise ValueError("resume-run and inputs are both set; set one of them")
    if outputs is None:
        raise ValueError("FLOWER_OUTPUTS_DIR is not set: this federation keeps no outputs, so there is nothing to begin with")
    if resume_run:
        if not resume_run.isdecimal():
            raise ValueError(f"resume-run is {resume_run!r}, which is not the id of a run")
        folder = outputs / resume_run / "checkpoints"
        found = [path for path in folder.glob("round-*.pt") if ROUND.fullmatch(path.name)]
        if not found:
            raise FileNotFoundError(f"run {resume_run} has no checkpoint ({folder}/round-*.pt)")
        return load(max(found, key=lambda path: int(path.stem.removeprefix("round-"))))
    path = (outputs / inputs).resolve()
    if not path.is_relative_to(outputs.resolve()):
        raise ValueError(f"inputs is {inputs!r}, which is not below FLOWER_OUTPUTS_DIR")
    return load(path)
