# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an archive of a hub holds, and whether it may be restored into a hub.

An archive has the members C(HUB) and C(DATABASE), and, of a newer collection, C(INVENTORY), which people read: nothing is restored from it.
Those of earlier releases may also have outputs of runs, which are not restored.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ..apply.compare import quantity
from ..base.errors import ClusterError
from ..base.foreign_data import expect_shape, read_json
from ..base.formats import readable
from ..base.plain_data import canonical
from ..programs.database_program import SPARE
from ..spec.hub_spec import HubSpec
from . import archive_reader, archive_writer, hub_objects
from .about import About, foreign

HUB, DATABASE, INVENTORY = "hub.json", "state.db", "inventory.json"
_OUTPUTS = "outputs.json"  # list of the outputs of runs
_MOST = 512 * 2**20  # bytes of the objects, which are in memory


@dataclass(frozen=True)
class Proven:
    """An archive that was read to its end.

    Attributes:
        about: its head.
        content: of C(HUB).
        outputs: number of files of outputs of runs.
    """

    about: About
    content: dict[str, Any]
    outputs: int = 0


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
    outputs = 0
    text = b""

    def take(name: str, size: int, data: BinaryIO) -> None:
        nonlocal outputs, text
        if name.startswith(archive_reader.OUTPUTS):
            outputs += 1
            return
        sizes[name] = size
        if name == HUB and size <= _MOST:
            text = data.read(size)

    about = archive_reader.read(path, take, identity)
    if set(sizes) - {INVENTORY, _OUTPUTS} != {HUB, DATABASE} or not text:
        raise ClusterError(f"{path} is not a backup of a hub: its members are {', '.join(sorted(sizes))}. Choose another file")
    with expect_shape(ClusterError(f"{path} is not a backup of a hub: the list of its objects cannot be read. Choose another file")):
        content: dict[str, Any] = read_json(text, _MOST)
        is_whole = content["database"]["size"] == sizes[DATABASE]
    if not is_whole:
        raise ClusterError(f"{path} contradicts itself about the size of the database. Choose another backup")
    return Proven(about, content, outputs)


def outputs_warning(path: Path, files: int) -> str:
    """That outputs of runs in an archive of an earlier release are not restored, and how to get them: a sentence.

    Args:
        path: the archive.
        files: how many it has.
    """
    return (
        f"{path} has {files} files of outputs of runs, which are not restored. They are the members {archive_reader.OUTPUTS}RUN/… of its encrypted "
        f"part: tar -xOf {shlex.quote(str(path))} {archive_writer.PAYLOAD} | age -d -i KEY | tar -x {archive_reader.OUTPUTS.rstrip('/')}"
    )


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
