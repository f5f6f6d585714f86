# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an archive of a hub holds: how it is written while the hub works, and whether it may be restored into a hub.

An archive has the members C(HUB) and C(DATABASE), and, of a newer collection, C(INVENTORY), which people read: nothing is restored from it.
Those of earlier releases may also have outputs of runs, which are not restored.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import re
import shlex
import shutil
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ..apply.compare import quantity
from ..base.errors import ClusterError
from ..base.foreign_data import expect_shape, read_json
from ..base.formats import readable
from ..base.object_names import CA_SECRETS, FEDERATION_CONFIG, SUPERLINK_POD
from ..base.plain_data import canonical, to_json_data
from ..base.version import VERSION
from ..flower import known_releases
from ..kube.client import Cluster
from ..programs.database_program import SPARE
from ..spec.hub_spec import HubSpec
from ..state.ledger import Ledger
from . import archive, hub_objects
from .archive import About
from .database import Copy, Volume

HUB, DATABASE, INVENTORY = "hub.json", "state.db", "inventory.json"
_OUTPUTS = "outputs.json"  # list of the outputs of runs
_MOST = 512 * 2**20  # bytes of the objects, which are in memory
#: Variables of the collection's roles and playbooks.
_VARIABLE = re.compile(r"(flower|superlink|supernode|skupper_(site|link|listener)|ocm_addon|clientapp|cert_rotation|awx)_\w+")
# What opens the archive, and what a command line says of it.
_NO_VARIABLE = re.compile(r"flower_(backup_identity|restore\w*)")


def about(hub: Cluster, namespace: str, federation: str) -> About:
    """What an archive of a hub says of itself.

    Raises:
        ClusterError: there is no hub that can be backed up.
    """
    published = hub.get("v1", "ConfigMap", FEDERATION_CONFIG, namespace)
    known = str(Ledger(hub, namespace, federation).read_book().get("id", ""))  # not what is noted elsewhere of a ledger that is lost
    if published is None or not known:
        raise ClusterError(
            f"{hub.name}: there is no hub of the federation {federation} in namespace {namespace} that can be "
            "backed up: its ledger or its publication is missing. Run site.yml first"
        )
    created = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    return About(federation, known, created, VERSION, published["data"]["version"])


def measured(hub: Cluster, namespace: str, folder: Path) -> int:
    """Bytes of the database, about as many as its copy has.

    Raises:
        ClusterError: there is no such folder, or it has no room for the archive. A full disk would harm everything else that uses it.
    """
    if not folder.is_dir():
        raise ClusterError(f"flower_backup_directory: there is no folder {folder} on the control node: create it")
    size = int(Volume(hub, namespace, SUPERLINK_POD).ask("measure")["size"])
    room = shutil.disk_usage(folder)
    if size > room.free and room.total:  # some file systems of the network tell neither
        raise ClusterError(
            f"flower_backup_directory: the archive needs {readable(size)}, and {readable(room.free)} are free in {folder}. Free space, or choose another folder"
        )
    return size


@contextlib.contextmanager
def snapshot(volume: Volume, ca_namespace: str, federation: str, use: str = "backup") -> Iterator[tuple[list[dict[str, Any]], Copy]]:
    """The objects of a hub, and a copy of its database, which is removed at the end of the block.

    The database is copied first: what a site registers meanwhile is missing in the copy, which site.yml corrects.

    Args:
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
        folder: exists.
        recipients: public keys of age, which can open it.
        hosts: the variables of the fleet's hosts, of C(host_variables); empty to leave them out.
    """
    objects, size = list[dict[str, Any]](), 0

    def members() -> Generator[archive.Member, None, None]:
        nonlocal objects, size
        with snapshot(Volume(hub, namespace, SUPERLINK_POD), ca_namespace, head.federation) as (objects, copy):
            size = copy.size
            yield archive.member_of(HUB, described(namespace, ca_namespace, {"size": size, "sha256": copy.sha256}, objects))
            if hosts:
                yield archive.member_of(INVENTORY, hosts)
            yield archive.Member(DATABASE, size, copy)  # type: ignore[arg-type]  # it is read only

    with contextlib.closing(members()) as given:
        path = archive.write(folder, head, given, recipients)
    return path, len(objects), size, sorted({one["object"]["metadata"]["name"] for one in objects} & {*CA_SECRETS})


def described(namespace: str, ca_namespace: str, database: dict[str, Any], objects: list[dict[str, Any]]) -> bytes:
    """The content of C(HUB).

    Args:
        database: C(size) and C(sha256) of the database.
        objects: those of C(hub_objects.collect).
    """
    content = {"namespace": namespace, "ca_namespace": ca_namespace, "database": database, "objects": objects}
    return canonical(content).encode("ascii")


def host_variables(
    hosts: Iterable[str], groups: Mapping[str, Iterable[str]], value: Callable[[str], Mapping[str, Any]], versions: Mapping[str, str]
) -> bytes:
    """The content of C(INVENTORY): the inventory as it was in effect, so that one that is lost can be written again.

    Args:
        hosts: the hub and the sites.
        groups: group -> its hosts.
        value: host -> its variables, each templated when it is read; that may raise an error of any kind, for example of a lookup.
        versions: of what created the backup.
    """
    found = {}
    for host in hosts:
        given, variables, errors = value(host), dict[str, Any](), dict[str, str]()
        for name in sorted(given):
            if not _VARIABLE.fullmatch(name) or _NO_VARIABLE.fullmatch(name):
                continue
            try:
                variables[name] = json.loads(json.dumps(to_json_data(given[name]), allow_nan=False))
            except Exception as error:  # of any lookup or template: the variable is named, and the others are kept
                errors[name] = type(error).__name__
        member = sorted(group for group, members in groups.items() if host in members and group != "all")
        found[host] = {"groups": member, "variables": variables, **({"not_known": errors} if errors else {})}
    return canonical({"hosts": found, "versions": dict(versions)}).encode("ascii")


@dataclass(frozen=True)
class Proven:
    """An archive that was read to its end.

    Attributes:
        about: its head.
        content: of C(HUB).
        outputs: number of files of outputs of runs, which archives of earlier releases may have.
    """

    about: About
    content: dict[str, Any]
    outputs: int = 0


def proven(path: Path, identity: Any, sha256: str = "") -> Proven:
    """Read an archive to its end; only the one with this SHA-256, if it is given: anyone with the public key can write an archive.

    Raises:
        ClusterError: it is not what was written, or not a backup of a hub.
    """
    if (sha256 or path.with_name(f"{path.name}{archive.SUM}").exists()) and (wrong := archive.checksum_error(path, sha256)):
        raise ClusterError(f"{wrong}. Choose another backup")
    sizes: dict[str, int] = {}
    text = b""

    def take(name: str, size: int, data: BinaryIO) -> None:
        nonlocal text
        sizes[name] = size
        if name == HUB and size <= _MOST:
            text = data.read(size)

    head = archive.read(path, identity, take)
    outputs = [name for name in sizes if name.startswith(archive.OUTPUTS)]
    if {*sizes} - {INVENTORY, _OUTPUTS, *outputs} != {HUB, DATABASE} or not text:
        raise ClusterError(f"{path} is not a backup of a hub: its members are {', '.join(sorted(sizes))}. Choose another file")
    with expect_shape(ClusterError(f"{path} is not a backup of a hub: the list of its objects cannot be read. Choose another file")):
        content: dict[str, Any] = read_json(text, _MOST)
        is_whole = content["database"]["size"] == sizes[DATABASE]
    if not is_whole:
        raise ClusterError(f"{path} has two different sizes for the database. Choose another backup")
    return Proven(head, content, len(outputs))


def outputs_warning(path: Path, files: int) -> str:
    """That outputs of runs in an archive of an earlier release are not restored, and how to get them: a sentence."""
    return (
        f"{path} has {files} files of outputs of runs, which are not restored. They are the members {archive.OUTPUTS}RUN/… of its encrypted "
        f"part: tar -xOf {shlex.quote(str(path))} {archive.PAYLOAD} | age -d -i KEY | tar -x {archive.OUTPUTS.rstrip('/')}"
    )


def errors(path: Path, found: Proven, spec: HubSpec, ca_namespace: str, identity: str) -> list[str]:
    """Why an archive is not to be restored into a hub: sentences. Pure.

    Args:
        identity: of the hub that stands there; empty for none.
    """
    head, content = found.about, found.content
    wrong = [archive.foreign(head, spec.federation, identity, str(path))]
    there, wanted = (content["namespace"], content["ca_namespace"]), (spec.namespace, ca_namespace)
    if there != wanted:
        wrong.append(
            f"{path} is of a hub in the namespaces {' and '.join(there)}, and the inventory has {' and '.join(wanted)}: "
            "set flower_namespace and flower_ca_namespace to those of the backup"
        )
    if known_releases.release_of(spec.version)[:2] < known_releases.release_of(head.flower)[:2]:
        wrong.append(
            f"{path} has a database of Flower {head.flower}, which Flower {spec.version} cannot read: set flower_version to "
            f"{head.flower} or newer"
        )
    need, size = content["database"]["size"] + SPARE, quantity(spec.storage_size)
    if size is not None and size < need:
        wrong.append(
            f"the database of {path} needs {readable(need)}, and its volume would have {spec.storage_size}: set superlink_storage_size to what that of the "
            "former hub had, or more"
        )
    if why := hub_objects.fault(content["objects"], wanted, spec.federation):
        wrong.append(f"{path}: {why}. Choose another backup")
    return [*filter(None, wrong)]
