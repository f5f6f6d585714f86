# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which outputs of runs are in a backup: what is asked for, and the files of it. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from ..base.errors import ClusterError
from ..base.sizes import readable
from ..flower import outputs_reader
from ..programs.outputs_program import RUN
from .archive_writer import LONGEST
from .volume_files import Files

_YES, _NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0", "")
_ENTRY = 160  # bytes of the manifest for a file, beside its name
_BEGAN = ".began-"  # what a run began with, beside its folder
_NAMED = 10  # files in a text for people


@dataclass(frozen=True)
class Choice:
    """Outputs that are asked for.

    Attributes:
        is_any: whether there are any.
        runs: ids of the runs; empty for all.
    """

    is_any: bool
    runs: tuple[str, ...] = ()


def choice_of(value: Any) -> Choice:
    """What C(flower_backup_outputs) asks for: a truth value, or ids of runs, as a list or separated by commas.

    Raises:
        ClusterError: it is neither.
    """
    given = value if isinstance(value, list) else [value]
    texts = [part.strip() for one in given for part in str("" if one is None else one).split(",")]
    texts = [one for one in texts if one] or [""]
    if len(texts) == 1 and texts[0].lower() in (*_YES, *_NO):
        return Choice(texts[0].lower() in _YES)
    if not all(RUN.fullmatch(one) for one in texts):
        raise ClusterError(
            f"flower_backup_outputs: {value!r} is neither true (outputs of all runs), nor false, nor ids of runs. federated.flower.outputs lists "
            "the runs that have outputs"
        )
    return Choice(True, tuple(dict.fromkeys(texts)))


@dataclass
class Chosen:
    """Files for a backup.

    Attributes:
        known: path -> size and time of a file.
        left_out: path -> why it is not in the backup.
    """

    known: dict[str, tuple[int, int]] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def runs(self) -> list[str]:
        """Ids of their runs."""
        return sorted({run_of(path) for path in self.known}, key=int)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(size for size, _changed in self.known.values())

    @property
    def words(self) -> str:
        """For people."""
        return f"{len(self.known)} files of outputs of {len(self.runs)} runs, {readable(self.size)}"


def run_of(path: str) -> str:
    """The run that a file of the volume belongs to; empty for one that belongs to none, such as inputs, which can be sent again."""
    top, slash, _rest = path.partition("/")
    name = top if slash else top.removeprefix(_BEGAN) if top.startswith(_BEGAN) else ""
    return name if RUN.fullmatch(name) else ""


def chosen(found: Files, choice: Choice, hub: str) -> Chosen:
    """The files that are asked for.

    Args:
        found: what is on the volume.
        choice: what is asked for.
        hub: name of the hub, for errors.

    Raises:
        ClusterError: a run has none, or there are too many files.
    """
    made = Chosen()
    for path, facts in found.known.items():
        run = run_of(path)
        if not run or (choice.runs and run not in choice.runs):
            continue
        why = outputs_reader.unfit(path)
        if why:
            made.left_out[outputs_reader.shown(path)] = why
        else:
            made.known[path] = facts
    for path in found.others:
        run = run_of(path)
        if run and (not choice.runs or run in choice.runs):
            made.left_out[outputs_reader.shown(path)] = "it is not a regular file, or it cannot be read"
    missing = [run for run in choice.runs if run not in {run_of(path) for path in made.known}]
    if missing:
        raise ClusterError(
            f"flower_backup_outputs: run {', '.join(missing)} has no outputs on {hub} that can be in a backup. federated.flower.outputs lists the "
            "runs that have some"
        )
    if sum(len(json.dumps(path)) + _ENTRY for path in made.known) > LONGEST // 2:
        raise ClusterError(
            f"flower_backup_outputs: {hub} has {len(made.known)} files of outputs, whose names are more than an archive can list. Choose runs by "
            "their ids, or remove outputs that are not needed (federated.flower.outputs)"
        )
    return made


def named(paths: Collection[str]) -> str:
    """Paths for people: some of them, if there are many."""
    shown = [outputs_reader.shown(path) for path in sorted(paths)[:_NAMED]]
    return ", ".join(shown) + (f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else "")
