# SPDX-License-Identifier: Apache-2.0
"""Models as files: one after each round, and the last one. NumPy's format without pickles, so reading one executes nothing."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

MODEL = "model.npz"
ROUND = re.compile(r"round-\d+\.npz")


@dataclass(frozen=True)
class Checkpoint:
    """A model and the round after which it was written; 0 for a model that is only to start from."""

    arrays: list[np.ndarray]
    round: int = 0


def save(path: Path, checkpoint: Checkpoint) -> None:
    """Write a file that is complete or not there, whenever the process ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.part")
    with partial.open("wb") as file:
        np.savez(file, coefficients=checkpoint.arrays[0], intercept=checkpoint.arrays[1], round=checkpoint.round)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def load(path: Path) -> Checkpoint:
    """Read a file."""
    with np.load(path, allow_pickle=False) as file:
        return Checkpoint([file["coefficients"], file["intercept"]], int(file["round"]) if "round" in file else 0)


def save_round(folder: Path, checkpoint: Checkpoint) -> None:
    """Write the checkpoint of a round."""
    save(folder / f"round-{checkpoint.round:04}.npz", checkpoint)


def newest(folder: Path) -> Path:
    """The file of the last round in a folder, or in one below it.

    Raises:
        FileNotFoundError: it has none.
        ValueError: it has those of several runs, which are different models.
    """
    found = [path for path in folder.rglob("*.npz") if ROUND.fullmatch(path.name)]
    if not found:
        raise FileNotFoundError(f"{folder} has no checkpoint (round-*.npz)")
    folders = sorted({str(path.parent.relative_to(folder)) for path in found})
    if len(folders) > 1:
        raise ValueError(f"{folder} has checkpoints in several folders ({', '.join(folders)}); choose one of them")
    return max(found, key=lambda path: int(path.stem.removeprefix("round-")))


def start(outputs: Path | None, resume_run: str, inputs: str) -> Checkpoint | None:
    """The checkpoint that a run goes on from.

    Args:
        outputs: folder with the outputs of all runs (C(FLOWER_OUTPUTS_DIR)).
        resume_run: id of an earlier run, or empty.
        inputs: path below C(outputs) of a file or a folder of checkpoints, or empty.

    Raises:
        ValueError: both are set, or one leads out of C(outputs).
        FileNotFoundError: there is no checkpoint.
    """
    if not resume_run and not inputs:
        return None
    if resume_run and inputs:
        raise ValueError("resume-run and inputs are both set; set one of them")
    if outputs is None:
        raise ValueError(
            "FLOWER_OUTPUTS_DIR is not set: this federation keeps no outputs, so there is nothing to go on from"
        )
    if resume_run and not resume_run.isdecimal():
        raise ValueError(f"resume-run is {resume_run!r}, which is not the id of a run")
    path = (outputs / (resume_run or inputs)).resolve()
    if not path.is_relative_to(outputs.resolve()):
        raise ValueError(f"inputs is {inputs!r}, which is not below FLOWER_OUTPUTS_DIR")
    return load(newest(path) if path.is_dir() else path)
