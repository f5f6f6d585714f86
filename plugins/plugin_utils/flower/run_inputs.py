# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run begins with: outputs of an earlier run, and inputs from the control node, a file or the files of a folder, or from object storage.

The app learns of both by its run config: C(resume-run) is the id of the earlier run, C(inputs) a path. Both are below
C(FLOWER_OUTPUTS_DIR). Flower refuses keys that an app does not declare, so an app that cannot use them is refused before.

The name of inputs follows from their content. They are sent in pieces, each written at an offset, and continued from what is there. The hub lists
what it has, with the SHA-256 of each file. When that is what the control node has, the inputs get their name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..base.formats import counted, readable
from . import local_inputs, outputs_table, run_table, runs
from .app import App
from .bucket_inputs import BucketInputs
from .cli import FlowerCLI, FlowerError
from .local_inputs import Inputs
from .outputs_list import Contents, TooFull
from .outputs_reader import MAKE_ROOM, Reader
from .transfer import Attempts, Steady

RESUME_KEY, INPUTS_KEY = "resume-run", "inputs"
S3 = "s3://"
PIECE = 16 * 1024 * 1024  # bytes of a request, which is in memory


@dataclass(frozen=True)
class RunInputs:
    """What the user wants a run to begin with.

    Attributes:
        resume: id of an earlier run; empty for none.
        inputs: files of the control node or of object storage, if any.
    """

    resume: str = ""
    inputs: Inputs | BucketInputs | None = None

    @property
    def run_config(self) -> dict[str, str]:
        """The keys by which the app learns of it."""
        found = {RESUME_KEY: self.resume} if self.resume else {}
        return found | ({INPUTS_KEY: self.inputs.place} if self.inputs else {})

    @property
    def origin(self) -> dict[str, str]:
        """Where the run's model comes from: the id of the earlier run, and the SHA-256 of the inputs."""
        found = {"resume": self.resume} if self.resume else {}
        return found | ({"inputs": self.inputs.name} if self.inputs else {})


def read(app: App, config: Mapping[str, Any], resume: str, inputs: str, say: Callable[[str], None]) -> RunInputs:
    """Read the options. Nothing is sent yet.

    Raises:
        FlowerError: the app cannot learn of it; or there is no such file.
    """
    for option, key, value in (("resume", RESUME_KEY, resume), ("inputs", INPUTS_KEY, inputs)):
        if value and not isinstance(app.defaults.get(key), str):
            raise FlowerError(
                f'{option}: the app {app.name} accepts no inputs, because its run config has no string {key!r}. Add {key} = "" to '
                "[tool.flwr.app.config] in its pyproject.toml, and read it in the ServerApp"
            )
        if value and config.get(key):
            raise FlowerError(f"{option}: the run config has {key!r} as well; remove one of the two")
    if resume:
        runs.ids([resume], "resume")
    if inputs.startswith(S3):
        return RunInputs(resume, BucketInputs.parse(inputs))
    return RunInputs(resume, local_inputs.load(inputs, say) if inputs else None)


def provide(
    cli: FlowerCLI, wanted: RunInputs, floor: str, say: Callable[[str], None], *, check: bool
) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    """See that the outputs of the earlier run are there, and send the inputs.

    Args:
        floor: room that is left on the volume, as a quantity; empty for the floor of the hub.
        check: send nothing.

    Returns:
        For the result of the module, for the audit trail, and for people.

    Raises:
        ClusterError: a run cannot begin with this. Nothing is submitted then.
    """
    result: dict[str, Any] = {}
    facts: list[dict[str, Any]] = []
    words: list[str] = []
    reader = Reader(cli)
    if run_id := wanted.resume:
        if not check:
            reader.use(run_id)  # the outputs stay from now on until the run that goes on from them is finished
        _room, stored, _inputs = reader.list([run_id])
        known = run_table.known_runs(cli, [run_id])
        run_table.refuse_active([run_id], known, "handed to another run")
        listed = outputs_table.entries(stored, list(known.values()))
        if not listed or not listed[0]["files"]:
            raise FlowerError(
                f"nothing was submitted: run {run_id} has no outputs on {cli.cluster.name} to resume from (resume). Its app wrote nothing below "
                f"$FLOWER_OUTPUTS_DIR/{run_id}, or they were deleted; federated.flower.outputs lists what is there"
            )
        found = result["resume"] = {name: listed[0][name] for name in ("run_id", "app", "version", "fab_hash", "status", "files", "size")}
        about = f"{found['app']} {found['version']}".strip() or "app unknown"
        words.append(
            f"{'would go' if check else 'goes'} on from run {run_id} ({about}, {found['status']}): "
            f"{counted(found['files'], 'file')}, {readable(found['size'])}"
        )
    if given := wanted.inputs:
        if isinstance(given, BucketInputs):
            is_new, size, verb, past = _copy(given, reader, floor, say, run_id, check=check), given.size, "copy", "copied"
        else:
            is_new, size, verb, past = *_send(Sending(reader, given, floor, say, run_id), check=check), "send", "sent"
        result["inputs"] = {
            "path": str(given.given), "place": given.place, "sha256": given.name, "files": len(given.files), "size": given.size, "sent": size,
        }  # fmt: skip
        about = f"inputs {given.given}: {counted(len(given.files), 'file')}, {readable(given.size)}"
        done = f"{f'would {verb}' if check else past} {readable(size)}" if is_new else "there already"
        words.append(f"{about}, {done}: {given.place}")
        if is_new:
            source = {"source": given.given} if isinstance(given, BucketInputs) else {}
            facts.append({"change": past, "inputs": given.name, "files": len(given.files), "size": given.size, **source})
    for line in words:
        say(line)
    return result, facts, words


def _send(sending: Sending, *, check: bool) -> tuple[bool, int]:
    """Send inputs, or look what is missing; whether there are any, and their bytes."""
    if check:
        missing = sending.missing()
        return missing is not None, missing or 0
    sending.send()
    return bool(sending.requests), sending.size


def _copy(inputs: BucketInputs, reader: Reader, floor: str, say: Callable[[str], None], keep: str, *, check: bool) -> bool:
    """Copy inputs within the hub, or look whether they are in the bucket."""
    if check:
        inputs.find(reader, floor)
    else:
        inputs.copy(reader, floor, say, {"keep": keep} if keep else {})
    return True


class Sending:
    """Sends the inputs of one run.

    Args:
        floor: room that is left there, as a quantity; empty for the floor of the hub.
        keep: id of the run whose outputs are handed over with them, and are marked as used with each request; empty for none.

    Attributes:
        size: bytes that were sent.
        requests: pieces that it took; 0 if everything was there.
    """

    def __init__(self, reader: Reader, inputs: Inputs, floor: str, say: Callable[[str], None], keep: str = "") -> None:
        self.reader = reader
        self.inputs = inputs
        self.floor = floor
        self.size = self.requests = 0
        self._keeps = {"keep": keep} if keep else {}
        self._attempts = Attempts(reader, say, "sending inputs")
        self._steady = Steady(say, f"inputs {inputs.given}")

    def missing(self) -> int | None:
        """Bytes that the hub lacks; None if everything is there. Nothing is sent.

        Raises:
            ClusterError: it is not known, or there is no room for them.
        """
        there, offsets = self._compare({})
        return None if there.whole and not offsets else self._left(offsets)

    def send(self) -> None:
        """Send what the hub lacks.

        Raises:
            ClusterError: it could not be completed. What was sent stays, and is continued the next time.
        """
        if why := self._attempts.run(self._transfer):
            raise FlowerError(
                f"nothing was submitted, because the inputs {self.inputs.given} could not be sent completely: {why} What was sent stays on the "
                "hub: run this again to continue"
            )

    def _transfer(self) -> bool:
        """Send what the hub lacks, and have it give the inputs their name; whether it has."""
        there, offsets = self._compare(self._keeps)
        if offsets:
            self._attempts.left = self._left(offsets)
            if there.whole or there.left_out:  # an app changed them
                self.reader.delete([], [self.inputs.name])
                offsets = dict.fromkeys(self.inputs.files, 0)
            self._write(offsets, there.room.floor)
            if self._compare(self._keeps)[1]:
                return False
        self.reader.ask({"do": "finish", "inputs": [self.inputs.name], **self._keeps})
        return True

    def _compare(self, keep: Mapping[str, str]) -> tuple[Contents, dict[str, int]]:
        """What the hub has, and how many bytes of each file that is not complete. A file with other content is sent again, and so are all if it has others.

        Raises:
            FlowerError: there is no room for the rest, or something else is in their place.
        """
        wanted = self.inputs.files
        there = self.reader.inputs(self.inputs.name, self.inputs.size, lambda: self._steady("the hub compares them, since {since}"), keep)
        there.left_out |= dict.fromkeys(there.files.keys() - wanted, "it is not among them")
        there.room = room = there.room.with_floor(self.floor)
        offsets = {}
        for path, one in wanted.items():
            size, _mtime, checksum = there.files.get(path, (-1, 0, ""))
            if there.left_out or (size, checksum) != (one.size, one.sha256):
                offsets[path] = size if 0 < size < one.size and not there.left_out else 0
        need = self._left(offsets)
        if offsets and room.free - need < room.floor:
            raise TooFull(
                f"nothing was submitted, because the volume for outputs on {self.reader.cluster.name} has too little free space for the inputs "
                f"{self.inputs.given}: {readable(need)} are to be sent, {room}, and {readable(room.floor)} stay free "
                f"(superlink_outputs_min_free). {MAKE_ROOM}"
            )
        return there, offsets

    def _left(self, offsets: Mapping[str, int]) -> int:
        return sum(self.inputs.files[path].size - offset for path, offset in offsets.items())

    def _write(self, offsets: Mapping[str, int], floor: int) -> None:
        """Send all pieces that are missing.

        Raises:
            ClusterError: one of them did not arrive.
        """
        for parts, data in self._pieces(offsets):
            self.requests += 1
            request = {"do": "write", "inputs": [self.inputs.name], "files": parts, "floor": floor, **self._keeps}
            if any(one.get("full") for one in self.reader.ask(request, data=data)):
                raise TooFull(
                    f"nothing was submitted, because the volume for outputs on {self.reader.cluster.name} became full while the inputs "
                    f"{self.inputs.given} were sent: {readable(floor)} stay free (superlink_outputs_min_free). What was sent of them is "
                    f"deleted there. {MAKE_ROOM}"
                )
            self.size += len(data)
            self._steady(f"{readable(self.size)} sent, of {readable(self.inputs.size)} in all")

    def _pieces(self, offsets: Mapping[str, int]) -> Iterator[tuple[list[tuple[str, int, int]], bytes]]:
        """Parts of files (path, offset, bytes), and their bytes together."""
        parts: list[tuple[str, int, int]] = []
        data = bytearray()
        for path, offset in offsets.items():
            one = self.inputs.files[path]
            while True:
                found = local_inputs.read_part(self.inputs.folder / path, one, offset, min(PIECE - len(data), one.size - offset))
                parts.append((path, offset, len(found)))
                data += found
                offset += len(found)
                if len(data) >= PIECE:
                    yield parts, bytes(data)
                    parts, data = [], bytearray()
                if offset >= one.size:
                    break
        if parts:
            yield parts, bytes(data)
