# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Upload the outputs of a run to the bucket: what is uploaded is proved by the SHA-256 of each file, and compared with them if it already exists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..base.formats import counted, readable
from ..base.plain_data import digest
from . import outputs_fetch
from .bucket import Bucket
from .cli import FlowerCLI, FlowerError
from .outputs_fetch import Fetched
from .outputs_list import MANIFEST, shown


def upload(cli: FlowerCLI, bucket: Bucket, run_id: str, run: Mapping[str, Any], say: Callable[[str], None], *, check: bool) -> Fetched:
    """Upload the outputs of a run; with C(check) only look.

    Args:
        run: what Flower knows of it; empty if that is nothing.

    Raises:
        ClusterError: they could not be uploaded, or the bucket has others of this run.
    """
    reader, place = bucket.reader, bucket.of_run(run_id)
    sizes = reader.contents(run_id)
    total = sum(sizes.sizes.values())
    if total > sizes.room.size:
        raise FlowerError(f"the files of run {run_id} have {readable(total)}, and the volume {readable(sizes.room.size)}: they are sparse, and not uploaded")
    about = f"outputs of run {run_id}: {counted(len(sizes.files), 'file')}, {readable(total)}"
    there = bucket.manifest(run_id)
    if check and there is None:
        return Fetched(True, f"would upload {about}: {place}")
    contents = reader.contents(run_id, total)
    if gone := [path for path, one in contents.files.items() if not one.sha256]:
        raise FlowerError(f"{shown(gone[0])} of run {run_id} cannot be read, or something is still writing to these outputs; upload them when it is done")
    files = contents.listed
    sums: dict[str, Any] = {"files": len(files), "size": total, "sha256": digest(files)}
    result = {"run_id": run_id, "place": place, "changed": there is None, **sums, "left_out": contents.left_out}
    if there is not None:
        if not isinstance(there, dict) or (there.get("run_id"), there.get("files")) != (run_id, files):
            raise FlowerError(
                f"{place}/{MANIFEST} is of other outputs than those of run {run_id} on {cli.cluster.name}. Nothing was changed in the bucket. Find out "
                "who wrote it, and set another superlink_outputs_s3.prefix or delete it there"
            )
        return Fetched(False, f"{about}, were there already: {place}", result)
    say(f"{about}, are uploaded to {place}")
    facts = outputs_fetch.provenance(cli, run)
    bucket.upload(run_id, contents, outputs_fetch.manifest(run_id, facts, contents))
    fact = {"change": "uploaded", "run": run_id, **{name: facts[name] for name in ("app", "fab_hash", "sites")}, **sums, "place": place}
    return Fetched(True, f"{about}, uploaded: {place}", result, fact, outputs_fetch.left_out_warnings(run_id, contents, "uploaded"))
