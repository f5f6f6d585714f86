# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bring the outputs of one run home: fetch them, and say what came out of which run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..base.formats import counted, readable
from ..base.plain_data import digest
from . import outputs_table, run_sites, run_table, runs
from .cli import FlowerCLI, FlowerError
from .outputs_fetch import Fetching
from .outputs_reader import Reader

_NAMED = 10  # files in a warning


class Home(NamedTuple):
    """Outputs of a run on the control node.

    Attributes:
        fact: for the audit trail.
        result: for the result of a module.
        warnings: files that are not among them.
        words: what was fetched, for people.
    """

    fact: dict[str, Any]
    result: dict[str, Any]
    warnings: list[str]
    words: str


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


def fetch(cli: FlowerCLI, reader: Reader, run_id: str, run: Mapping[str, Any], directory: Path, say: Callable[[str], None]) -> Home:
    """Fetch the outputs of a run to C(directory), in which it gets a folder of its own. C(run): what Flower knows of it; empty if that is nothing.

    Raises:
        ClusterError: they could not be fetched.
    """
    about = {
        "app": f"{run.get('app', '')} {run.get('version', '')}".strip(),
        "fab_hash": run.get("fab_hash", ""),
        "sites": run_sites.read(cli, run) if run else [],
    }
    facts = {"status": run.get("status", outputs_table.UNKNOWN), "finished_at": run.get("finished_at", ""), "hub": cli.cluster.name, "namespace": cli.namespace}
    work = Fetching(reader, run_id, directory, say)
    work.fetch({**about, **facts})
    contents, path = work.contents, str(work.target)
    sums: dict[str, Any] = {"files": len(contents.files), "size": sum(contents.sizes.values()), "sha256": digest(work.listed)}
    result = {"run_id": run_id, "path": path, "changed": work.changed, **sums, "sites": about["sites"]}
    result |= {"left_out": contents.left_out, "connections": work.attempts}
    warnings = []
    if left_out := [f"{name} ({why})" for name, why in contents.left_out.items()]:
        more = f" and {len(left_out) - _NAMED} more" if len(left_out) > _NAMED else ""
        warnings.append(f"not fetched of the outputs of run {run_id}: {', '.join(left_out[:_NAMED])}{more}")
    verb = "fetched" if work.changed else "were there already"
    words = f"outputs of run {run_id}: {counted(sums['files'], 'file')}, {readable(sums['size'])}, {verb}: {path}"
    return Home({"change": "fetched", "run": run_id, **about, **sums}, result, warnings, words)


def foresee(reader: Reader, run_id: str, directory: Path) -> tuple[bool, str]:
    """What C(fetch) would do: whether it changes something, and in words.

    Raises:
        ClusterError: the outputs cannot be read.
    """
    sizes = reader.contents(run_id).sizes
    is_there = (directory / run_id).exists()
    verb = "would compare" if is_there else "would fetch"
    return not is_there, f"{verb} {counted(len(sizes), 'file')} of run {run_id}, {readable(sum(sizes.values()))}"
