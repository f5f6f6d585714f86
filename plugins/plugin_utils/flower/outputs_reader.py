# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The volume for outputs: its reader, a container on the hub, lists, reads, writes and deletes files."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, MutableSequence, Sequence
from typing import Any

from ..base.errors import ClusterError
from ..base.formats import readable
from ..base.object_names import OUTPUTS_POD_ANNOTATION, OUTPUTS_READER, OUTPUTS_ROOT
from ..kube.api_errors import Forbidden
from ..programs import outputs_program
from . import in_pod
from .cli import FlowerCLI, FlowerError
from .outputs_list import Contents, Room, Stored, TooFull, expected, parse_contents, room_of

_SECONDS = 600  # time limit of a program that lists, writes or deletes
_SLOWEST = 10 * 1024 * 1024  # bytes per second that the hub hashes, at least
_LONGEST = 24 * 3600  # seconds of that
SILENCE = 90  # seconds without output after which a connection counts as lost

MAKE_ROOM = (
    "Delete outputs that are no longer needed (federated.flower.outputs -e flower_outputs=prune -e flower_outputs_keep=N), or increase "
    "the size of the claim (superlink_outputs_size)"
)


class NoOutputs(FlowerError):
    """The federation keeps no outputs."""


class NoFiles(FlowerError):
    """A run has no outputs."""


class Reader:
    """The reader of one SuperLink's outputs."""

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
                    f"running after {seconds:g} s; federated.flower.status shows the cause"
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
        self, request: Mapping[str, Any], seconds: float = _SECONDS, data: bytes = b"", on_output: Callable[[], None] | None = None
    ) -> list[dict[str, Any]]:
        """Have the program in the container answer a request, which C(data) may follow; C(on_output) is called when there was a sign of life.

        Raises:
            ClusterError: it could not be reached, or ended with an error.
        """
        silence = SILENCE if on_output else None
        return in_pod.run(
            self.cluster, self.namespace, self.pod(), OUTPUTS_READER, outputs_program, request, seconds=seconds, data=data, silence=silence, on_output=on_output
        ).objects()

    def begin(self, run_id: str, origin: Mapping[str, str]) -> None:
        """Keep what a run began with, for the list beside its outputs."""
        self.ask({"do": "begin", "run": run_id, "origin": origin}, seconds=60)

    def room(self) -> Room:
        """The free space on the volume."""
        answers = self.ask({"do": "room"}, seconds=60)
        with expected(self.cluster.name):
            return room_of(answers[0])

    def list(self, run_ids: Sequence[str] = (), warnings: MutableSequence[str] | None = None) -> tuple[Room, Sequence[Stored], Sequence[Stored]]:
        """The room, the outputs of some runs, or of all, and inputs for runs, those that were used last first.

        Args:
            run_ids: of the runs; empty for all.
            warnings: gets why inputs cannot be read. Outputs of runs are listed and deleted without them.
        """
        answers = self.ask({"do": "list", "runs": [*run_ids]})
        found: dict[str, list[Stored]] = {"run": [], "inputs": []}
        with expected(self.cluster.name):
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
        with expected(self.cluster.name):
            return bool(answers[0]["there"])

    def contents(self, run_id: str, size: int = 0, on_output: Callable[[], None] = lambda: None) -> Contents:
        """The files of a run.

        Args:
            run_id: of the run.
            size: bytes of which SHA-256 are computed at most, in the order of their paths; those of other files are empty.
            on_output: called now and then while they are hashed.

        Raises:
            NoFiles: it has no outputs.
            FlowerError: names that only someone would send who wants to write somewhere else.
        """
        found = self._contents({"run": run_id}, size, on_output)
        if found.missing:
            raise NoFiles(
                f"run {run_id} has no outputs on {self.cluster.name}: its app wrote nothing below $FLOWER_OUTPUTS_DIR/{run_id}, or they were "
                "deleted"
            )
        return found

    def inputs(self, name: str, size: int, on_output: Callable[[], None], keep: Mapping[str, str]) -> Contents:
        """As C(contents), what is there of inputs; C(keep) is part of the request.

        Raises:
            FlowerError: something else is in the place of inputs.
        """
        return self._contents({"inputs": [name], **keep}, 2 * size, on_output)  # files that are longer than they should be do not keep others from it

    def _contents(self, about: Mapping[str, Any], size: int, on_output: Callable[[], None]) -> Contents:
        answers = self.ask({"do": "files", **about, "hashed": size}, _SECONDS + min(size / _SLOWEST, _LONGEST), on_output=on_output)
        if answers and "fault" in answers[0]:
            raise FlowerError(f"nothing was submitted, because {self._unusable(answers[0])}")
        return parse_contents(answers, self.cluster.name)

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
        with expected(self.cluster.name):
            faults = {str(one["name"]): str(one["fault"]) for one in answers}
        return {one: faults.get(one, "the program did not report a result for it") for one in wanted if faults.get(one, "?")}

    def _unusable(self, answer: Mapping[str, Any]) -> str:
        """Why the folder of inputs cannot be used, with the remedy."""
        inputs = outputs_program.INPUTS
        return (
            f"{inputs} on the volume for outputs on {self.cluster.name} is not a folder that inputs can be in: {str(answer['fault'])[:200]}. An app "
            f"created it, or it was there before: rename it (container {OUTPUTS_READER}, {OUTPUTS_ROOT}/{inputs})"
        )


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
    """Room for the outputs of a run that is about to be submitted; None where none are kept, or why that is not known. C(floor): a quantity, or empty.

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
        return None, f"the free space for outputs is unknown: {error.message}{rights}"
    if room.is_low:
        raise TooFull(
            f"nothing was submitted, because the volume for outputs on {cli.cluster.name} is nearly full: {room}, and the "
            f"minimum is {readable(room.floor)} (superlink_outputs_min_free). {MAKE_ROOM}"
        )
    return room, ""
