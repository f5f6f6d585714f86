# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bring the outputs of one run home: fetch them, and say what came out of which run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base.errors import ClusterError
from ..base.formats import counted, readable
from ..base.plain_data import digest
from . import outputs_table, run_sites, run_table, runs
from .cli import FlowerCLI, FlowerError
from .outputs_fetch import Fetching
from .outputs_reader import MAKE_ROOM, Reader

_NAMED = 10  # files in a warning
_FULL = 1024 * 1024  # bytes below which a volume counts as full, whatever its floor


@dataclass(frozen=True)
class Home:
    """Outputs of a run on the control node.

    Attributes:
        fact: for the audit trail.
        result: for the result of a module.
        warnings: files that are not among them.
    """

    fact: dict[str, Any]
    result: dict[str, Any]
    warnings: list[str] = field(default_factory=list)

    @property
    def changed(self) -> bool:
        """Whether they were not there before."""
        return bool(self.result["changed"])


def known_runs(cli: FlowerCLI, run_ids: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
    """Id -> run, of all runs that the SuperLink knows, or of some of them."""
    listed = runs.read_all(cli) if run_ids is None else runs.read_some(cli, run_ids)
    return {one["run_id"]: one for one in run_table.entries(listed)}


def refuse_active(run_ids: Sequence[str], known: Mapping[str, Mapping[str, Any]], what: str) -> None:
    """Refuse to touch outputs that are still being made.

    Raises:
        FlowerError: some of the runs are not finished.
    """
    active = [one for one in run_ids if one in known and known[one]["active"]]
    if active:
        raise FlowerError(
            f"run {', '.join(active)} is not finished, and its outputs are not {what} before that. Wait for it (federated.flower.run -e "
            "flower_run_id=ID), or stop it (federated.flower.runs -e flower_runs=stop -e flower_run_id=ID)"
        )


def fetch(
    cli: FlowerCLI,
    run_id: str,
    run: Mapping[str, Any],
    directory: Path,
    say: Callable[[str], None],
    reader: Reader | None = None,
) -> Home:
    """Fetch the outputs of a run into a folder of its own.

    Args:
        cli: Flower's command line on the hub.
        run_id: the run.
        run: what Flower knows of it; empty if that is nothing.
        directory: the folder in which it gets one.
        say: shows the progress.
        reader: of the outputs, if there is one already.

    Raises:
        ClusterError: they could not be fetched.
    """
    reader = reader or Reader(cli)
    contents = reader.contents(run_id)
    about = {
        "app": f"{run.get('app', '')} {run.get('version', '')}".strip(),
        "fab_hash": run.get("fab_hash", ""),
        "sites": run_sites.read(cli, run) if run else [],
    }
    facts = {
        **about,
        "status": run.get("status", outputs_table.UNKNOWN),
        "finished_at": run.get("finished_at", ""),
        "hub": cli.cluster.name,
        "namespace": cli.namespace,
        **({"began": contents.began} if contents.began else {}),
    }
    fetched = Fetching(reader, run_id, contents, directory, say).fetch(facts)
    sums = {"files": len(fetched.files), "size": sum(contents.sizes.values()), "sha256": digest(fetched.files)}
    result = {
        "run_id": run_id,
        "path": fetched.path,
        "changed": fetched.changed,
        **sums,
        "sites": about["sites"],
        "left_out": contents.left_out,
        "connections": fetched.attempts,
    }
    return Home({"change": "fetched", "run": run_id, **about, **sums}, result, _warnings(run_id, contents.left_out))


def foresee(reader: Reader, run_id: str, directory: Path) -> tuple[bool, str]:
    """What C(fetch) would do: whether it changes something, and in words.

    Args:
        reader: of the outputs.
        run_id: the run.
        directory: the folder in which it gets one.

    Raises:
        ClusterError: the outputs cannot be read.
    """
    sizes = reader.contents(run_id).sizes
    is_there = (directory / run_id).exists()
    verb = "would compare" if is_there else "would fetch"
    return not is_there, f"{verb} {counted(len(sizes), 'file')} of run {run_id}, {readable(sum(sizes.values()))}"


def full_words(cli: FlowerCLI) -> str:
    """To be added to the end of a run that failed: that its volume is full; empty if it is not, or that cannot be known."""
    reader = Reader(cli)
    try:
        reader.pod(seconds=5)  # the run may have failed because its pod is gone
        room = reader.room()
    except ClusterError:
        return ""  # there may be no outputs, and there is a failure to be reported already
    if not room.is_low and room.free >= _FULL:
        return ""
    return f"\nThe volume for outputs is nearly full, which may be the reason: {room}. {MAKE_ROOM}"


def _warnings(run_id: str, left_out: Mapping[str, str]) -> list[str]:
    if not left_out:
        return []
    named = [f"{path} ({why})" for path, why in list(left_out.items())[:_NAMED]]
    more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
    return [f"not fetched of the outputs of run {run_id}: {', '.join(named)}{more}"]


def words(found: Mapping[str, Any]) -> str:
    """What was fetched, for people."""
    verb = "fetched" if found["changed"] else "were there already"
    return (
        f"outputs of run {found['run_id']}: {counted(found['files'], 'file')}, {readable(found['size'])}, {verb}: {found['path']}"
    )
