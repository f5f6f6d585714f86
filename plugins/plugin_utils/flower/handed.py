# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run is handed to begin with: outputs of an earlier run, and inputs from the control node.

The app learns of both by its run config: C(resume-run) is the id of the earlier run, C(inputs) a path. Both are below
C(FLOWER_OUTPUTS_DIR). Flower refuses keys that an app does not declare, so an app that cannot use them is refused before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..base.formats import counted, readable
from . import inputs_send, outputs_home, outputs_table
from .app import App
from .cli import FlowerCLI, FlowerError
from .inputs_send import Inputs, Sending
from .outputs_reader import Reader

RESUME_KEY, INPUTS_KEY = "resume-run", "inputs"


@dataclass(frozen=True)
class Handed:
    """What the user wants a run to begin with.

    Attributes:
        resume: id of an earlier run; empty for none.
        inputs: files of the control node, if any.
    """

    resume: str = ""
    inputs: Inputs | None = None

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


@dataclass(frozen=True)
class Outcome:
    """What was done about it.

    Attributes:
        result: for the result of the module.
        facts: for the audit trail.
        words: what was done, or would be, for people.
    """

    result: dict[str, Any]
    facts: list[dict[str, Any]]
    words: list[str]


def read(app: App, config: Mapping[str, Any], resume: str, inputs: str, say: Callable[[str], None]) -> Handed:
    """Read the options. Only files of the control node are looked at.

    Args:
        app: that is to be submitted.
        config: the user's run config.
        resume: id of an earlier run, or empty.
        inputs: path of a file or folder, or empty.
        say: shows the progress.

    Raises:
        FlowerError: the app cannot learn of it; or there is no such file.
    """
    for option, key, value in (("resume", RESUME_KEY, resume), ("inputs", INPUTS_KEY, inputs)):
        if not value:
            continue
        if not isinstance(app.defaults.get(key), str):
            raise FlowerError(
                f'{option}: the app {app.name} cannot be handed anything, because its run config has no text {key!r}. Add {key} = "" to '
                "[tool.flwr.app.config] in its pyproject.toml, and read it in the ServerApp"
            )
        if config.get(key):
            raise FlowerError(f"{option}: the run config has {key!r} as well; remove one of the two")
    if resume:
        outputs_table.ids([resume], "resume")
    return Handed(resume, inputs_send.load(inputs, say) if inputs else None)


def provide(cli: FlowerCLI, handed: Handed, floor: str, say: Callable[[str], None], *, check: bool) -> Outcome:
    """See that the outputs of the earlier run are there, and send the inputs.

    Args:
        cli: Flower's command line on the hub.
        handed: what is wanted.
        floor: room that is left on the volume, as a quantity; empty for the floor of the hub.
        say: shows the progress.
        check: send nothing.

    Raises:
        ClusterError: a run cannot begin with this. Nothing is submitted then.
    """
    result: dict[str, Any] = {}
    facts: list[dict[str, Any]] = []
    words: list[str] = []
    reader = Reader(cli)
    if handed.resume:
        found = result["resume"] = _earlier(cli, reader, handed.resume, check)
        about = " ".join(filter(None, (found["app"], found["version"])))
        words.append(
            f"{'would go' if check else 'goes'} on from run {handed.resume} ({about or 'app unknown'}, {found['status']}): "
            f"{counted(found['files'], 'file')}, {readable(found['size'])}"
        )
    if handed.inputs:
        given = handed.inputs
        sending = Sending(reader, given, floor, say, handed.resume)
        if check:
            missing = sending.missing()
            is_new, size = missing is not None, missing or 0
        else:
            sending.send()
            is_new, size = bool(sending.requests), sending.size
        result["inputs"] = {
            "path": str(given.given), "place": given.place, "sha256": given.name, "files": len(given.files), "size": given.size,
            "sent": size,
        }  # fmt: skip
        about = f"inputs {given.given}: {counted(len(given.files), 'file')}, {readable(given.size)}"
        verb = "would send" if check else "sent"
        words.append(f"{about}, {f'{verb} {readable(size)}' if is_new else 'there already'}: {given.place}")
        if is_new:
            facts.append({"change": "sent", "inputs": given.name, "files": len(given.files), "size": given.size})
    for line in words:
        say(line)
    return Outcome(result, facts, words)


def hold(cli: FlowerCLI, handed: Handed) -> None:
    """Mark the outputs of the earlier run again, right before the run is submitted: what came in between may have taken long.

    Args:
        cli: Flower's command line on the hub.
        handed: what was provided.

    Raises:
        ClusterError: they were deleted meanwhile, or that is not known. Nothing is submitted then.
    """
    if handed.resume and not Reader(cli).use(handed.resume):
        raise _nothing(cli, handed.resume)


def _earlier(cli: FlowerCLI, reader: Reader, run_id: str, check: bool) -> dict[str, Any]:
    """The outputs of an earlier run, which stay from now on until the run that goes on from them is finished.

    Raises:
        FlowerError: it is not finished, or has none.
    """
    if not check:
        reader.use(run_id)
    _room, stored, _inputs = reader.list([run_id])
    known = outputs_home.known_runs(cli, [run_id])
    outputs_home.refuse_active([run_id], known, "handed to another run")
    listed = outputs_table.entries(stored, list(known.values()))
    if not listed or not listed[0]["files"]:
        raise _nothing(cli, run_id)
    (found,) = listed
    return {name: found[name] for name in ("run_id", "app", "version", "fab_hash", "status", "files", "size")}


def _nothing(cli: FlowerCLI, run_id: str) -> FlowerError:
    return FlowerError(
        f"nothing was submitted: run {run_id} has no outputs on {cli.cluster.name} to go on from (resume). Its app wrote nothing below "
        f"$FLOWER_OUTPUTS_DIR/{run_id}, or they were deleted; federated.flower.outputs lists what is there"
    )
