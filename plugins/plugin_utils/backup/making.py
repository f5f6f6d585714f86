# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copy a hub, while it works, into an encrypted archive on the control node."""

from __future__ import annotations

import contextlib
import datetime
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

from ..apply.applyset import TOOL_VERSION
from ..base.errors import ClusterError
from ..base.formats import readable
from ..base.object_names import FEDERATION_CONFIG, SUPERLINK_POD
from ..kube.client import Cluster
from ..state.ledger import NEW, Ledger
from . import archive_writer, hub_archive, hub_objects
from .about import About
from .database import Copy, Volume


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


def measured(hub: Cluster, namespace: str, folder: Path) -> int:
    """Bytes of the database, about as many as its copy has.

    Raises:
        ClusterError: the folder has no room for the archive. A full disk would harm everything else that uses it.
    """
    size = int(Volume(hub, namespace, SUPERLINK_POD).ask("measure")["size"])
    room = shutil.disk_usage(folder)
    if size > room.free and room.total:  # some file systems of the network tell neither
        raise ClusterError(
            f"flower_backup_directory: the archive needs {readable(size)}, and {readable(room.free)} are free in {folder}. Make room, or choose another folder"
        )
    return size


@contextlib.contextmanager
def snapshot(volume: Volume, ca_namespace: str, federation: str, use: str = "backup") -> Iterator[tuple[list[dict[str, Any]], Copy]]:
    """The objects of a hub, and a copy of its database, which is removed at the end of the block.

    The database is copied first: what a site registers meanwhile is missing in the copy, which site.yml corrects.

    Args:
        volume: that of the SuperLink.
        ca_namespace: namespace of the hub's CA keys.
        federation: its name.
        use: what the copy is for, one of C(database_program.COPIES).
    """
    with Copy(volume, use) as copy:
        yield hub_objects.collect(volume.cluster, volume.namespace, ca_namespace, federation), copy


def contents(objects: int, size: int) -> str:
    """What an archive has, for people."""
    return f"{objects} objects and a database of {readable(size)}"


def write(
    hub: Cluster, namespace: str, ca_namespace: str, head: About, folder: Path, recipients: list[Any], hosts: bytes = b""
) -> tuple[Path, int, int, list[str]]:
    """Write an archive; its path, the number of its objects, the bytes of its database, and the names of the Secrets with keys of CAs.

    Args:
        hub: a connection to its cluster.
        namespace: of the hub.
        ca_namespace: of its CA keys.
        head: of C(about).
        folder: of C(folder_of).
        recipients: public keys of age, which can open it.
        hosts: the variables of the fleet's hosts, of C(fleet_variables.described); empty to leave them out.
    """
    counts: dict[str, int] = {}
    keys: list[str] = []

    def members() -> Generator[archive_writer.Member, None, None]:
        with snapshot(Volume(hub, namespace, SUPERLINK_POD), ca_namespace, head.federation) as (objects, copy):
            counts.update(objects=len(objects), size=copy.size)
            keys.extend(sorted({one["object"]["metadata"]["name"] for one in objects} & hub_objects.AUTHORITIES))
            database = {"size": copy.size, "sha256": copy.sha256}
            yield archive_writer.member_of(hub_archive.HUB, hub_archive.described(namespace, ca_namespace, database, objects))
            if hosts:
                yield archive_writer.member_of(hub_archive.INVENTORY, hosts)
            yield archive_writer.Member(hub_archive.DATABASE, copy.size, copy)  # type: ignore[arg-type]  # it is read only

    with contextlib.closing(members()) as given:
        path = archive_writer.write(folder, head, given, recipients)
    return path, counts["objects"], counts["size"], keys
