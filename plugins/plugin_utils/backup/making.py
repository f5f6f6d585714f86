# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copy a hub, while it works, into an encrypted archive on the control node."""

from __future__ import annotations

import contextlib
import datetime
import shutil
from collections.abc import Generator
from pathlib import Path
from typing import Any

from ..apply.applyset import TOOL_VERSION
from ..base.errors import ClusterError
from ..base.object_names import FEDERATION_CONFIG, SUPERLINK_POD
from ..base.sizes import readable
from ..flower.cli import FlowerCLI
from ..flower.outputs_reader import Reader
from ..kube.client import Cluster
from ..ledger.store import NEW, Ledger
from . import archive_writer, hub_archive, hub_objects
from .about import About
from .database import Copy, Volume
from .output_choice import Chosen
from .output_members import Outputs
from .volume_files import Place


def about(hub: Cluster, namespace: str, federation: str) -> About:
    """What an archive of a hub says of itself.

    Raises:
        ClusterError: there is no hub that can be backed up.
    """
    published = hub.get("v1", "ConfigMap", FEDERATION_CONFIG, namespace)
    known = Ledger(hub, namespace, federation).identity()
    if published is None or known in ("", NEW):
        raise ClusterError(
            f"{hub.name}: there is no hub of the federation {federation} in namespace {namespace} that can be "
            "backed up: its ledger or its publication is missing. Run site.yml first"
        )
    made = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    return About(federation, known, made, TOOL_VERSION.rpartition("/v")[2], published["data"]["version"])


def folder_of(given: str) -> Path:
    """The folder for archives.

    Raises:
        ClusterError: there is none.
    """
    folder = Path(given)
    if not folder.is_dir():
        raise ClusterError(f"flower_backup_directory: there is no folder {folder} on the control node: create it")
    return folder


def output_place(hub: Cluster, namespace: str) -> Place:
    """The container that has the outputs of runs.

    Raises:
        ClusterError: the federation keeps none, or it does not run.
    """
    found = Reader(FlowerCLI(hub, namespace)).place()
    return Place(hub, namespace, found.pod, found.container)


def measured(hub: Cluster, namespace: str, folder: Path, chosen: Chosen | None) -> int:
    """Bytes of the database, about as many as its copy has.

    Raises:
        ClusterError: the folder has no room for the archive. A full disk would harm everything else that uses it.
    """
    size = int(Volume(hub, namespace, SUPERLINK_POD).ask("measure")["size"])
    need, room = size + (chosen.size if chosen else 0), shutil.disk_usage(folder)
    if need > room.free and room.total:  # some file systems of the network tell neither
        raise ClusterError(
            f"flower_backup_directory: the archive needs {readable(need)}, and {readable(room.free)} are free in {folder}. Make room, or choose another folder"
        )
    return size


def looked(hub: Cluster, namespace: str, ca_namespace: str, federation: str, size: int, chosen: Chosen | None) -> str:
    """What an archive would have, for people. Nothing is copied."""
    return contents(len(hub_objects.collect(hub, namespace, ca_namespace, federation)), size, chosen)


def contents(objects: int, size: int, chosen: Chosen | None) -> str:
    """What an archive has, for people."""
    words = f"{objects} objects" + (", " if chosen else " and ") + f"a database of {readable(size)}"
    return words + (f" and {chosen.words}" if chosen else "")


def write(
    hub: Cluster, namespace: str, ca_namespace: str, head: About, folder: Path, recipients: list[Any], hosts: bytes = b"",
    outputs: Outputs | None = None,
) -> tuple[Path, int, int, list[str]]:  # fmt: skip
    """Write an archive; its path, the number of its objects, the bytes of its database, and the names of the Secrets with keys of CAs.

    The database is copied first: what a site has registered meanwhile is then missing in the copy, which site.yml corrects.

    Args:
        hub: a connection to its cluster.
        namespace: of the hub.
        ca_namespace: of its CA keys.
        head: of C(about).
        folder: of C(folder_of).
        recipients: public keys of age, which can open it.
        hosts: the variables of the fleet's hosts, of C(fleet_variables.described); empty to leave them out.
        outputs: outputs of runs that are in it.
    """
    counts: dict[str, int] = {}
    keys: list[str] = []

    def members() -> Generator[archive_writer.Member, None, None]:
        with Copy(Volume(hub, namespace, SUPERLINK_POD)) as copy:
            objects = hub_objects.collect(hub, namespace, ca_namespace, head.federation)
            counts.update(objects=len(objects), size=copy.size)
            keys.extend(sorted({one["object"]["metadata"]["name"] for one in objects} & hub_objects.AUTHORITIES))
            database = {"size": copy.size, "sha256": copy.sha256}
            yield archive_writer.member_of(hub_archive.HUB, hub_archive.described(namespace, ca_namespace, database, objects))
            if hosts:
                yield archive_writer.member_of(hub_archive.INVENTORY, hosts)
            yield archive_writer.Member(hub_archive.DATABASE, copy.size, copy)  # type: ignore[arg-type]  # it is read only
        # The copy is gone from the SuperLink's volume: outputs may take hours.
        if outputs:
            yield from outputs.members()

    with contextlib.closing(members()) as given:
        path = archive_writer.write(folder, head, given, recipients)
    return path, counts["objects"], counts["size"], keys
