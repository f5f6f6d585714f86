# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the reader of outputs answers: room, runs and inputs with outputs, and files. Names and numbers are checked. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..apply.compare import quantity
from ..base import foreign_data
from ..base.formats import readable
from ..programs import outputs_program
from .cli import FlowerError

MANIFEST = "flower-outputs.json"  # what was fetched, in the folder of a run
#: Bytes of a name, and of a path, that every file system of a control node takes.
_LONGEST_NAME, _LONGEST_PATH = 255, 3000
_WHITE = str.maketrans("\t\n", "??")


class TooFull(FlowerError):
    """There is too little free space for the outputs of another run."""


@dataclass(frozen=True)
class Room:
    """The volume for outputs, in bytes.

    Attributes:
        size: of all.
        free: what is left.
        floor: room below which no run is submitted; 0 for none.
    """

    size: int
    free: int
    floor: int = 0

    @property
    def is_low(self) -> bool:
        """Whether no run is submitted."""
        return self.free < self.floor

    def facts(self) -> dict[str, int]:
        """It in the result of a module."""
        return {"size": self.size, "free": self.free, "min_free": self.floor}

    def with_floor(self, floor: str) -> Room:
        """The room with another floor, unless that is empty.

        Raises:
            TooFull: the floor is not a quantity.
        """
        wanted = quantity(floor) if floor else self.floor
        if wanted is None or wanted < 0:
            raise TooFull(f'outputs_min_free: {floor!r} is not a quantity like "512Mi" or "2Gi"')
        return Room(self.size, self.free, int(wanted))

    def __str__(self) -> str:
        return f"{readable(self.free)} of {readable(self.size)} are free"


@dataclass(frozen=True)
class Stored:
    """The outputs of a run, or inputs for runs.

    Attributes:
        name: id of the run, or SHA-256 of the list of the inputs.
        files: how many there are.
        size: bytes.
        changed: when the last of them was changed, seconds since 1970.
        left_out: files that cannot be fetched.
        used: when they were last handed to a run, or sent, seconds since 1970; 0 for never.
        whole: whether all of the inputs were sent.
    """

    name: str
    files: int
    size: int
    changed: float = 0.0
    left_out: int = 0
    used: float = 0.0
    whole: bool = True


class File(NamedTuple):
    """A file: bytes, time of the last change in nanoseconds since 1970, and SHA-256 if that was requested."""

    size: int
    mtime: int
    sha256: str


@dataclass
class Contents:
    """Files of a run, or of inputs.

    Attributes:
        files: path -> file.
        left_out: path -> why it is not fetched.
        began: C(resume), the earlier run, and C(inputs), their SHA-256, with which the run began; empty if with nothing.
        missing: whether there is no folder for them.
        whole: whether inputs have their name, so all of them were compared once.
        room: of the volume.
    """

    files: dict[str, File] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    began: dict[str, str] = field(default_factory=dict)
    missing: bool = False
    whole: bool = False
    room: Room = Room(0, 0)

    @property
    def sizes(self) -> dict[str, int]:
        """Path -> bytes."""
        return {path: one.size for path, one in self.files.items()}

    @property
    def listed(self) -> dict[str, dict[str, Any]]:
        """Path -> size and SHA-256."""
        return {path: {"size": one.size, "sha256": one.sha256} for path, one in sorted(self.files.items())}


def expected(hub: str) -> AbstractContextManager[None]:
    """Refuse answers of another shape than a block expects."""
    return foreign_data.expect_shape(FlowerError(f"the reader of outputs on {hub} returned an invalid answer; find out who changed its container"))


def room_of(answer: Mapping[str, Any]) -> Room:
    """The room in an answer of the program."""
    found = answer["room"]
    return Room(int(found["size"]), int(found["free"]), int(quantity(str(found.get("floor") or "0")) or 0))


def parse_contents(answers: Iterable[Mapping[str, Any]], hub: str) -> Contents:
    """Read the list of files. Names are those that an app chose, and a reader that was taken over might have chosen others.

    Raises:
        FlowerError: a path leads out of the folder, or two are the same: the reader cannot have found it.
    """
    found = Contents()
    with expected(hub):
        head, *entries = answers
        found.room = room_of(head)
        # What a run began with. Apps could have written it, so only ids and hashes count.
        began = head["began"] if isinstance(head.get("began"), dict) else {}
        shapes = {"resume": outputs_program.RUN, "inputs": outputs_program.NAME}
        found.began = {name: str(began[name]) for name, shape in shapes.items() if shape.fullmatch(str(began.get(name, "")))}
        found.missing, found.whole = "missing" in head, head.get("whole") is True
        for one in entries:
            if "left_out" in one:
                path, why = one["left_out"]
                found.left_out[shown(str(path))] = foreign_data.cleaned(str(why), 200)
                continue
            path, *facts = one["file"]
            size, mtime, checksum = facts
            is_path = isinstance(path, str) and "\0" not in path and not any(part in ("", ".", "..") for part in path.split("/"))
            if not is_path or path in found.files or [*map(type, facts)] != [int, int, str] or size < 0:
                raise FlowerError(
                    f"the reader of outputs on {hub} named a file {shown(str(path))!r}, which no folder of a run can have. Nothing "
                    "was fetched; find out who changed its container"
                )
            if why := "its name is that of the list of what was fetched" if path == MANIFEST and "began" in head else unfit(path):
                found.left_out[shown(path)] = why
            else:
                found.files[path] = File(size, mtime, checksum)
    for path in found.files:
        if any(path[:end] in found.files for end, one in enumerate(path) if one == "/"):
            raise FlowerError(f"the reader of outputs on {hub} named {shown(path)!r}, which is below a file. Nothing was fetched")
    return found


def unfit(path: str) -> str:
    """Why a file with this name is not written on the control node; empty if it is."""
    try:
        parts = [part.encode() for part in path.split("/")]
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if foreign_data.CONTROL.search(path) or any(one in path for one in "\t\n\\"):
        return "its name has control characters or backslashes"
    if len(parts) > outputs_program.DEEPEST:
        return f"it is in a folder within {outputs_program.DEEPEST} others"
    if max(map(len, parts)) > _LONGEST_NAME or sum(map(len, parts)) + len(parts) > _LONGEST_PATH:
        return "its name is too long"
    return ""


def shown(path: str) -> str:
    """A path for a message: without control characters, not too long."""
    return foreign_data.without_controls(path.translate(_WHITE), 200)
