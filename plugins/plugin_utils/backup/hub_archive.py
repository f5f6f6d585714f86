# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an archive of a hub holds, and whether it may be restored into a hub.

An archive has the members C(HUB) and C(DATABASE), and, of a newer collection, C(INVENTORY), which people read: nothing is restored from it.
By choice it also has outputs of runs, see C(output_members).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ..apply.compare import quantity
from ..base.digests import canonical
from ..base.errors import ClusterError
from ..base.foreign_data import read_json, shape
from ..base.sizes import readable
from ..programs.database_program import SPARE
from ..spec.hub_spec import HubSpec
from . import archive_reader, archive_writer, hub_objects, output_members
from .about import About, foreign

HUB, DATABASE, INVENTORY = "hub.json", "state.db", "inventory.json"
_MOST = 512 * 2**20  # bytes of the objects, and of the list of outputs, which are in memory


@dataclass(frozen=True)
class Proven:
    """An archive that was read to its end.

    Attributes:
        about: its head.
        content: of C(HUB).
        outputs: path -> entry of the outputs that it has; empty without.
    """

    about: About
    content: dict[str, Any]
    outputs: Mapping[str, output_members.Entry] = field(default_factory=dict)


def described(namespace: str, ca_namespace: str, database: dict[str, Any], objects: list[dict[str, Any]]) -> bytes:
    """The content of C(HUB).

    Args:
        database: C(size) and C(sha256) of the database.
        objects: those of C(hub_objects.collect).
    """
    content = {"namespace": namespace, "ca_namespace": ca_namespace, "database": database, "objects": objects}
    return canonical(content).encode("ascii")


def proven(path: Path, identity: Any, sha256: str = "") -> Proven:
    """Read an archive to its end; only the one with this SHA-256, if it is given: anyone with the public key can write an archive.

    Raises:
        ClusterError: it is not what was written, or not a backup of a hub.
    """
    if sha256 or path.with_name(f"{path.name}{archive_writer.SUM}").exists():
        fault = archive_reader.checksum_fault(path, sha256)
        if fault:
            raise ClusterError(f"{fault}. Choose another backup")
    sizes: dict[str, int] = {}
    outputs: dict[str, int] = {}
    texts: dict[str, bytes] = {}

    def take(name: str, size: int, data: BinaryIO) -> None:
        if name.startswith(archive_writer.OUTPUTS):
            outputs[name.removeprefix(archive_writer.OUTPUTS)] = size
            return
        sizes[name] = size
        if name in (HUB, output_members.INDEX) and size <= _MOST:
            texts[name] = data.read(size)

    about = archive_reader.read(path, take, identity)
    if set(sizes) - {INVENTORY, output_members.INDEX} != {HUB, DATABASE} or HUB not in texts:
        raise ClusterError(f"{path} is not a backup of a hub: its members are {', '.join(sorted(sizes))}. Choose another file")
    with shape(ClusterError(f"{path} is not a backup of a hub: the list of its objects cannot be read. Choose another file")):
        content: dict[str, Any] = read_json(texts[HUB], _MOST)
        is_whole = content["database"]["size"] == sizes[DATABASE]
        index = read_json(texts.get(output_members.INDEX, b"null"), _MOST)
    if not is_whole:
        raise ClusterError(f"{path} contradicts itself about the size of the database. Choose another backup")
    if not outputs and output_members.INDEX not in sizes:
        return Proven(about, content)
    return Proven(about, content, output_members.listed(index, outputs, str(path)))


def faults(path: Path, about: About, content: dict[str, Any], spec: HubSpec, ca_namespace: str, identity: str) -> list[str]:
    """Why an archive is not to be restored into a hub: sentences. Pure.

    Args:
        spec: of the hub.
        identity: of the hub that stands there; empty for none.
    """
    found = [foreign(about, spec.federation, identity, str(path))]
    there, wanted = (content["namespace"], content["ca_namespace"]), (spec.namespace, ca_namespace)
    if there != wanted:
        found.append(
            f"{path} is of a hub in the namespaces {' and '.join(there)}, and the inventory says {' and '.join(wanted)}: "
            "set flower_namespace and flower_ca_namespace to those of the backup"
        )
    if _release(spec.version) < _release(about.flower):
        found.append(
            f"{path} has a database of Flower {about.flower}, which Flower {spec.version} cannot read: set flower_version to "
            f"{about.flower} or newer"
        )
    need, size = content["database"]["size"] + SPARE, quantity(spec.storage_size)
    if size is not None and size < need:
        found.append(
            f"the database of {path} needs {readable(need)}, and its volume would have {spec.storage_size}: set superlink_storage_size to what that of the "
            "former hub had, or more"
        )
    why = hub_objects.fault(content["objects"], wanted, spec.federation)
    return [*filter(None, found), *([f"{path}: {why}. Choose another backup"] if why else [])]


def _release(version: str) -> tuple[int, ...]:
    """Major and minor number; of a version that has none, the lowest."""
    numbers = version.split(".")[:2]
    return tuple(int(one) for one in numbers) if all(one.isdecimal() for one in numbers) else (0,)
