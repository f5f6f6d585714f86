# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files on the volume for outputs, as the reader's container on the hub has them: room, list, contents, delete. Names and numbers are checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, MutableSequence, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..apply.compare import quantity
from ..base import foreign_data
from ..base.errors import ClusterError
from ..base.formats import readable
from ..base.object_names import OUTPUTS_POD_ANNOTATION, OUTPUTS_READER, OUTPUTS_ROOT
from ..kube.api_errors import Forbidden
from ..programs import outputs_program
from . import in_pod
from .cli import FlowerCLI, FlowerError

_SECONDS = 600  # time limit of a program that lists, writes or deletes
_SLOWEST = 10 * 1024 * 1024  # bytes per second that the hub hashes, at least
SILENCE = 90  # seconds without output after which a connection counts as lost
#: Bytes of a name, and of a path, that every file system of a control node takes.
LONGEST_NAME, LONGEST_PATH = 255, 3000
_WHITE = str.maketrans("\t\n", "??")
MANIFEST = "flower-outputs.json"  # what was fetched, in the folder of a run


MAKE_ROOM = (
    "Delete outputs that are not needed any more (federated.flower.outputs -e flower_outputs=prune -e flower_outputs_keep=N), or give the "
    "claim more room (superlink_outputs_size)"
)


class NoOutputs(FlowerError):
    """The federation keeps no outputs."""


class NoFiles(FlowerError):
    """A run has no outputs."""


class TooFull(FlowerError):
    """There is too little room for the outputs of another run."""


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


class Reader:
    """The reader of one SuperLink's outputs.

    Args:
        cli: the SuperLink's command line.
    """

    def __init__(self, cli: FlowerCLI) -> None:
        self.cli = cli
        self.cluster = cli.cluster
        self.namespace = cli.namespace
        self._pod = ""

    def pod(self, seconds: float = 60) -> str:
        """Find the pod with the reader, and wait until it runs.

        Raises:
            NoOutputs: the federation has none.
            FlowerError: it does not run.
        """
        if self._pod:
            return self._pod
        superlink = self.cli.wait_for_superlink(seconds)
        name = (superlink["metadata"].get("annotations") or {}).get(OUTPUTS_POD_ANNOTATION)
        if not name:
            raise NoOutputs(
                f"the federation in namespace {self.namespace} of {self.cluster.name} keeps no outputs of runs: set "
                "superlink_outputs_enabled and run federated.flower.site"
            )
        deadline = time.monotonic() + seconds
        while not in_pod.is_running(self.cluster.get("v1", "Pod", name, self.namespace), OUTPUTS_READER):
            if time.monotonic() >= deadline:
                raise FlowerError(
                    f"the container {OUTPUTS_READER} of pod {self.namespace}/{name} on {self.cluster.name}, which reads outputs, is not "
                    f"running after {seconds:g} s; federated.flower.status says why"
                )
            time.sleep(1)  # the pod is being replaced
        self._pod = str(name)
        return self._pod

    def folder(self, run_id: str) -> str:
        """Where the outputs of a run are, for people: C(NAMESPACE/POD:FOLDER)."""
        return f"{self.namespace}/{self.pod()}:{OUTPUTS_ROOT}/{run_id}"

    def forget_pod(self) -> None:
        """Look for the pod again: it may have been replaced."""
        self._pod = ""

    def ask(
        self, request: Mapping[str, Any], seconds: float = _SECONDS, data: bytes = b"", heard: Callable[[], None] | None = None
    ) -> list[dict[str, Any]]:
        """Have the program in the container answer a request, which C(data) may follow; C(heard) is called when there was a sign of life.

        Raises:
            ClusterError: it could not be reached, or ended with an error.
        """
        silence = SILENCE if heard else None
        return in_pod.run(
            self.cluster, self.namespace, self.pod(), OUTPUTS_READER, outputs_program, request, seconds=seconds, data=data, silence=silence, heard=heard
        ).objects()

    def begin(self, run_id: str, origin: Mapping[str, str]) -> None:
        """Keep what a run began with, for the list beside its outputs."""
        self.ask({"do": "begin", "run": run_id, "origin": origin}, seconds=60)

    def room(self) -> Room:
        """How much room is left on the volume."""
        answers = self.ask({"do": "room"}, seconds=60)
        with self._expected():
            return room_of(answers[0])

    def list(self, run_ids: Sequence[str] = (), warnings: MutableSequence[str] | None = None) -> tuple[Room, Sequence[Stored], Sequence[Stored]]:
        """The room, the outputs of some runs, or of all, and inputs for runs, those that were used last first.

        Args:
            run_ids: of the runs; empty for all.
            warnings: gets why inputs cannot be read. Outputs of runs are listed and deleted without them.
        """
        answers = self.ask({"do": "list", "runs": [*run_ids]})
        found: dict[str, list[Stored]] = {"run": [], "inputs": []}
        with self._expected():
            for one in answers[1:]:
                if "fault" in one:
                    if warnings is not None:
                        warnings.append(self._unusable(one))
                    continue
                kind = "run" if "run" in one else "inputs"
                numbers = (int(one["files"]), int(one["size"]), float(one["changed"]), int(one["left_out"]), float(one["used"]))
                found[kind].append(Stored(str(one[kind]), *numbers, whole=bool(one.get("whole", True))))
            return room_of(answers[0]), found["run"], sorted(found["inputs"], key=lambda one: (-one.used, one.name))

    def use(self, run_id: str) -> bool:
        """Mark the outputs of a run as handed to another one, so that they stay while that is not finished; returns whether there are some."""
        answers = self.ask({"do": "use", "run": run_id})
        with self._expected():
            return bool(answers[0]["there"])

    def contents(self, run_id: str, size: int = 0, heard: Callable[[], None] = lambda: None) -> Contents:
        """The files of a run.

        Args:
            run_id: of the run.
            size: bytes of the files whose SHA-256 are computed, in the order of their paths.
            heard: called now and then while they are hashed.

        Raises:
            NoFiles: it has no outputs.
            FlowerError: names that only someone would send who wants to write somewhere else.
        """
        found = self._contents({"run": run_id}, size, heard)
        if found.missing:
            raise NoFiles(
                f"run {run_id} has no outputs on {self.cluster.name}: its app wrote nothing below $FLOWER_OUTPUTS_DIR/{run_id}, or they were "
                "deleted"
            )
        return found

    def inputs(self, name: str, size: int, heard: Callable[[], None], keep: Mapping[str, str]) -> Contents:
        """As C(contents), what is there of inputs; C(keep) is part of the request.

        Raises:
            FlowerError: something else is in the place of inputs.
        """
        return self._contents({"inputs": [name], **keep}, 2 * size, heard)  # files that are longer than they should be do not keep others from it

    def _contents(self, about: Mapping[str, Any], size: int, heard: Callable[[], None]) -> Contents:
        answers = self.ask({"do": "files", **about, "hashed": size}, _SECONDS + size / _SLOWEST, heard=heard)
        if answers and "fault" in answers[0]:
            raise FlowerError(f"nothing was submitted, because {self._unusable(answers[0])}")
        return checked(answers, self.cluster.name)

    def delete(self, run_ids: Sequence[str], inputs: Sequence[str] = (), used: Mapping[str, float] | None = None) -> dict[str, str]:
        """Delete outputs of runs, and inputs.

        Args:
            run_ids: of the runs.
            inputs: names of inputs.
            used: run id, or name of inputs -> C(used) when it was decided to delete them. What was handed to another run since then stays.

        Returns:
            Run id or name of inputs -> why some could not be deleted.

        Raises:
            ClusterError: the reader could not be reached, or failed.
        """
        wanted = [*run_ids, *inputs]
        if not wanted:
            return {}
        answers = self.ask({"do": "delete", "runs": [*run_ids], "inputs": [*inputs], "used": dict(used or {})}, seconds=_SECONDS + 60 * len(wanted))
        with self._expected():
            faults = {str(one["name"]): str(one["fault"]) for one in answers}
        return {one: faults.get(one, "nothing was said about it") for one in wanted if faults.get(one, "?")}

    def _unusable(self, answer: Mapping[str, Any]) -> str:
        """Why the folder of inputs cannot be used, with the remedy."""
        inputs = outputs_program.INPUTS
        return (
            f"{inputs} on the volume for outputs on {self.cluster.name} is not a folder that inputs can be in: {str(answer['fault'])[:200]}. An app "
            f"created it, or it was there before: rename it (container {OUTPUTS_READER}, {OUTPUTS_ROOT}/{inputs})"
        )

    def _expected(self) -> AbstractContextManager[None]:
        return _expected(self.cluster.name)


def facts(cli: FlowerCLI) -> dict[str, Any]:
    """The volume for outputs as a status reports it: empty where there is none, C(error) where it is not known."""
    reader = Reader(cli)
    try:
        reader.pod(seconds=0)
        return {**reader.room().facts(), "error": ""}
    except NoOutputs:
        return {}
    except ClusterError as error:
        return {"error": error.message}


def known_room(cli: FlowerCLI, floor: str) -> tuple[Room | None, str]:
    """How much room there is for the outputs of a run that is about to be submitted; None where none are kept, or why that is not known.

    Args:
        cli: Flower's command line on the hub.
        floor: quantity; empty for the one that is set on the hub.

    Raises:
        TooFull: too little, with the remedy.
    """
    reader = Reader(cli)
    try:
        reader.pod(seconds=20)
        room = reader.room().with_floor(floor)
    except NoOutputs:
        return None, ""
    except TooFull:
        raise
    except ClusterError as error:  # a warning, since a run may need no outputs
        rights = " The playbook federated.flower.rbac gives data scientists the rights" if isinstance(error, Forbidden) else ""
        return None, f"how much room is left for outputs is not known: {error.message}{rights}"
    if room.is_low:
        raise TooFull(
            f"nothing was submitted, because the volume for outputs on {cli.cluster.name} is nearly full: {room}, and the floor is "
            f"{readable(room.floor)} (superlink_outputs_min_free). {MAKE_ROOM}"
        )
    return room, ""


def room_of(answer: Mapping[str, Any]) -> Room:
    """The room in an answer of the program."""
    found = answer["room"]
    floor = quantity(str(found.get("floor") or "0"))
    return Room(int(found["size"]), int(found["free"]), int(floor or 0))


def checked(answers: Iterable[Mapping[str, Any]], hub: str) -> Contents:
    """Read the list of files. Names are those that an app chose, and a reader that was taken over might have chosen others.

    Raises:
        FlowerError: a path leads out of the folder, or two are the same: the reader cannot have found it.
    """
    found = Contents()
    with _expected(hub):
        head, *entries = answers
        found.room, found.began = room_of(head), _began(head.get("began"))
        found.missing, found.whole = "missing" in head, head.get("whole") is True
        for one in entries:
            if "left_out" in one:
                path, why = one["left_out"]
                found.left_out[shown(str(path))] = foreign_data.cleaned(str(why), 200)
                continue
            path, *facts = one["file"]
            size, mtime, sha256 = facts
            if not isinstance(path, str) or is_escaping(path) or path in found.files or [*map(type, facts)] != [int, int, str] or size < 0:
                raise FlowerError(
                    f"the reader of outputs on {hub} named a file {shown(str(path))!r}, which no folder of a run can have. Nothing was "
                    "fetched; see who has changed its container"
                )
            why = "its name is that of the list of what was fetched" if path == MANIFEST and "began" in head else unfit(path)
            if why:
                found.left_out[shown(path)] = why
            else:
                found.files[path] = File(size, mtime, sha256)
    for path in found.files:
        if any(path[:end] in found.files for end, one in enumerate(path) if one == "/"):
            raise FlowerError(f"the reader of outputs on {hub} named {shown(path)!r}, which is below a file. Nothing was fetched")
    return found


def _expected(hub: str) -> AbstractContextManager[None]:
    """Refuse answers of another shape than a block expects."""
    return foreign_data.expect_shape(FlowerError(f"the reader of outputs on {hub} gave an answer that is none; see who has changed its container"))


def _began(value: Any) -> dict[str, str]:
    """What a run began with. Apps could have written it, so only ids and hashes count."""
    shapes = {"resume": outputs_program.RUN, "inputs": outputs_program.NAME}
    given = value if isinstance(value, dict) else {}
    return {name: str(given[name]) for name, shape in shapes.items() if shape.fullmatch(str(given.get(name, "")))}


def is_escaping(path: str) -> bool:
    """Whether a path leads out of its folder, or is none."""
    return path.startswith("/") or any(part in ("", ".", "..") for part in path.split("/")) or "\0" in path


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
    if max(map(len, parts)) > LONGEST_NAME or sum(map(len, parts)) + len(parts) > LONGEST_PATH:
        return "its name is too long"
    return ""


def shown(path: str) -> str:
    """A path for a message: without control characters, not too long."""
    return foreign_data.without_controls(path.translate(_WHITE), 200)
