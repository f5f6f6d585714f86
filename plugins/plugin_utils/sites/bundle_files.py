# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of a bundle. C(build) and C(archive) are pure: the same draft, version, nonce, time and changes give the same bytes.

On the control node, C(DIRECTORY/SITE) has the present version, and C(DIRECTORY/SITE-vN.tar.gz) is each one. Files that the list of checksums of the
present version does not name are not ours: they are neither changed nor deleted.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import tarfile
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base import foreign_data
from ..base.errors import ClusterError
from ..base.plain_data import program_text
from ..base.values import Object
from ..manifests import site_jobs
from ..manifests.gitops import manifest
from ..pki import certificates
from ..site_keys import shipped
from . import bundle_texts
from .bundle_draft import Draft, is_program, numbered

SUMS, SIGNATURE, CA = "SHA256SUMS", "SHA256SUMS.sig", "hub-ca.crt"
PASSPORT, CHANGES, UNINSTALL, VERSION = "PASSPORT.md", "CHANGES.md", "UNINSTALL.md", "VERSION"
SCRIPT = "verify.sh"  # with which a site checks the bundle: a POSIX shell, sha256sum and openssl, nothing of ours
_GROUPS = {
    "10-namespace.yaml": {"Namespace"},
    "20-rights.yaml": {"ServiceAccount", "Role", "RoleBinding"},
    "30-network.yaml": {"NetworkPolicy"},
    "50-keys.yaml": {"Job"},
    "60-supernodes.yaml": {"StatefulSet", "DaemonSet", "PodDisruptionBudget"},
}
_REST = "40-settings.yaml"
_REQUEST = f"program/{site_jobs.REQUEST}"
#: The files that say whose a bundle is.
ORIGIN = (VERSION, _REQUEST)
_VARIABLE = "flower_bundle_directory"
_PARTIAL = ".federated-flower-"
_NOTE = "# Written by federated.flower. Do not edit it: changes are a new version of the bundle, or a kustomization of yours beside it.\n"


@dataclass(frozen=True)
class Stamp:
    """What a version has besides its draft.

    Attributes:
        version: its number, from 1.
        nonce: what a reply to it must repeat.
        written: when, ISO 8601, UTC.
        changes: text of CHANGES.md.
    """

    version: int
    nonce: str
    written: str
    changes: str


def build(draft: Draft, stamp: Stamp, ca: str) -> dict[str, bytes]:
    """Path -> content of all files but the signature, the list of checksums last.

    Args:
        ca: certificate of the CA that signs, PEM.
    """
    ca = certificates.first(ca).strip() + "\n"
    found = {
        VERSION: bundle_texts.title(draft, stamp.version) + "\n",
        CA: ca,
        SCRIPT: program_text(SCRIPT),
        CHANGES: stamp.changes,
        UNINSTALL: bundle_texts.uninstall(draft, stamp.version),
        "uninstall.txt": bundle_texts.uninstall_list(draft, stamp.version),
    }
    if not draft.leaving:
        found |= _applied(draft, stamp, ca)
    content = {path: text.encode() for path, text in sorted(found.items())}
    listed = "".join(f"{hashlib.sha256(data).hexdigest()}  {path}\n" for path, data in content.items())
    return {**content, SUMS: listed.encode()}


def _applied(draft: Draft, stamp: Stamp, ca: str) -> dict[str, str]:
    """What a site applies, what explains it, and examples."""
    objects = numbered(draft, stamp.version, stamp.nonce)
    names = bundle_texts.images(objects)
    trust = hashlib.sha256(draft.trust.encode()).hexdigest()
    parts: dict[str, list[Object]] = {}
    for one in objects:
        if is_program(one):
            program = one
        else:
            name = next((name for name, kinds in _GROUPS.items() if one["kind"] in kinds), _REST)
            parts.setdefault(f"objects/{name}", []).append(one)
    found = {name: _NOTE + manifest(listed) for name, listed in sorted(parts.items())}
    # The program is in separate files: to be read, and since a large text in YAML is slow.
    meta = program["metadata"]
    options = {"disableNameSuffixHash": True, "labels": meta["labels"]}
    options |= {"annotations": meta["annotations"]} if meta.get("annotations") else {}
    generator = {
        "name": meta["name"],
        "namespace": meta["namespace"],
        "files": [f"{site_jobs.entry(path)}=program/{path}" for path in [*shipped.files(), site_jobs.REQUEST]],
        "options": options,
    }
    found["kustomization.yaml"] = _NOTE + manifest([_kustomization(sorted(parts), configMapGenerator=[generator])])
    found |= {f"program/{path}": text for path, text in shipped.files().items()}
    found[_REQUEST] = program["data"][site_jobs.REQUEST] + "\n"
    found[PASSPORT] = bundle_texts.passport(draft, stamp.version, stamp.written, fingerprint(ca), trust)
    found["IMAGES.md"] = bundle_texts.image_guide(names)
    found["images.txt"] = "".join(f"{name}\n" for name in names)
    return found | _layouts(draft, names)


def _kustomization(resources: Sequence[str], **more: Any) -> Object:
    return {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", "resources": list(resources), **more}


def _layouts(draft: Draft, names: Sequence[str]) -> dict[str, str]:
    """Examples for a repository of the site's: what they name is the folder of the bundle in it."""
    site, space = draft.facts["site"], draft.facts["namespace"]
    path = f"bundles/{site}"
    argo = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": f"flower-{site}", "namespace": "argocd"},
        "spec": {
            "project": "default",
            "source": {"repoURL": "https://git.example.com/site.git", "targetRevision": "main", "path": path},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": space},
            "syncPolicy": {"automated": {"prune": True, "selfHeal": True}, "syncOptions": ["ServerSideApply=true"]},
        },
    }
    source = {
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "site", "namespace": "flux-system"},
        "spec": {"url": "https://git.example.com/site.git", "ref": {"branch": "main"}, "interval": "10m"},
    }
    flux = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": f"flower-{site}", "namespace": "flux-system"},
        "spec": {
            "sourceRef": {"kind": "GitRepository", "name": "site"},
            "path": f"./{path}",
            "interval": "12h",
            "prune": True,
            "wait": False,
        },
    }
    mirrored = []
    for name in dict.fromkeys(bundle_texts.split_image(one)[0] for one in names):
        host, slash, rest = name.partition("/")
        inside = rest if slash and ("." in host or ":" in host) else name
        mirrored.append({"name": name, "newName": f"registry.internal/{inside}"})
    note = f"# An example: copy it, and put your own repository and folder in the place of git.example.com and {path}.\n"
    return {
        "layouts/argocd/application.yaml": note + manifest([argo]),
        "layouts/flux/flux.yaml": note + manifest([source, flux]),
        "layouts/mirror/kustomization.yaml": (
            f"# An example: copy this folder beside the bundle's folder {site}, and put your registry in the place of registry.internal.\n"
            + manifest([_kustomization([f"../{site}"], images=mirrored)])
        ),
    }


def fingerprint(ca: str) -> str:
    """Fingerprint of a certificate as openssl prints it."""
    digits = str(certificates.describe(ca)["fingerprint"]).partition(":")[2].upper()
    return ":".join(digits[at : at + 2] for at in range(0, len(digits), 2))


def origin(there: Mapping[str, bytes]) -> tuple[str, str]:
    """The federation that a bundle is of, and the identity of its hub; each is empty where its files do not say.

    Args:
        there: path -> content of those of C(ORIGIN) that there are.
    """
    try:
        hub = str(foreign_data.read_json(there[_REQUEST])["binding"]["hub"])
    except (KeyError, TypeError, ValueError):
        hub = ""
    return bundle_texts.federation_of(there.get(VERSION, b"").decode(errors="replace")), hub


def digest(built: Mapping[str, bytes]) -> str:
    """What a version is recognized by: SHA-256 of its list of checksums."""
    return hashlib.sha256(built[SUMS]).hexdigest()


def archive(site: str, built: Mapping[str, bytes]) -> bytes:
    """The files as a tar, the same for the same files."""
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(built):
            entry = tarfile.TarInfo(f"{site}/{path}")
            entry.size, entry.mode = len(built[path]), mode_of(path)
            tar.addfile(entry, io.BytesIO(built[path]))
    return sink.getvalue()


def mode_of(path: str) -> int:
    """Permissions of a file."""
    return 0o755 if path == SCRIPT else 0o644


def last_version(directory: Path, site: str) -> int:
    """The highest version of which an archive is there; 0 for none."""
    found = (re.fullmatch(rf"{re.escape(site)}-v([1-9]\d{{0,8}})\.tar\.gz", path.name) for path in directory.glob(f"{site}-v*.tar.gz"))
    return max((int(one[1]) for one in found if one), default=0)


def refuse_others(directory: Path, site: str, version: int, federation: str, hub: str) -> None:
    """Check that no bundle or archive of another federation is overwritten, which may have a site of the same name.

    Args:
        version: the version whose archive is written.
        hub: identity of its hub; empty while it is not known.

    Raises:
        ClusterError: a bundle of another federation is there, or files cannot be read. A damaged archive is of no use, and is overwritten.
    """
    home, packed = directory / site, directory / f"{site}-v{version}.tar.gz"
    try:
        there = {home: {name: (home / name).read_bytes() for name in ORIGIN if (home / name).is_file()}, packed: _origin_files(_unpacked(packed), site)}
    except OSError as error:
        raise _unusable(directory, error) from error
    for path, files in there.items():
        owner, owner_hub = origin(files)
        if owner and (owner != federation or (hub and owner_hub and hub != owner_hub)):
            whose = f"the federation {owner}" if owner != federation else f"another hub of the federation {owner}"
            raise ClusterError(
                f"{path} is of {whose}, and is not overwritten. Set {_VARIABLE} to another folder for each federation, or delete all files of "
                f"{site} there, including archives of all versions, if that federation no longer exists."
            )


def _origin_files(tar: bytes, site: str) -> dict[str, bytes]:
    """The files of a tar that say whose bundle it is; none of one that cannot be read."""
    found = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(tar)) as opened:
            for entry in opened:
                name = entry.name.removeprefix(f"{site}/")
                if name in ORIGIN and (content := opened.extractfile(entry)) is not None:
                    found[name] = content.read()
    except tarfile.TarError:
        return {}
    return found


def write(directory: Path, site: str, version: int, built: Mapping[str, bytes], *, check: bool) -> bool:
    """Write the files that differ, and delete those of earlier versions; the list of checksums comes last. Returns whether any differed.

    Raises:
        ClusterError: a file is in the way that is not ours, or files cannot be read or written.
    """
    home, packed = directory / site, directory / f"{site}-v{version}.tar.gz"
    tar = archive(site, built)
    try:
        owned = _owned(home)
        there = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_symlink() or not path.is_dir()} if home.exists() else set()
        differing = {path for path, data in built.items() if not _has(home / path, data)}
        # A run that was interrupted has written some of the new files, and may have left a partial one.
        ours = {*owned, *(path for path in built if owned or path not in differing)}
        ours |= {path for path in there if path.rpartition("/")[2].startswith(_PARTIAL)}
        if foreign := sorted(there - ours):
            raise ClusterError(
                f"{home} has files that are not part of a bundle ({', '.join(foreign[:3])}), and is not changed. Move them, or choose another "
                f"folder ({_VARIABLE})."
            )
        outdated, is_packed = there - built.keys(), _unpacked(packed) == tar
        if not check:
            if not is_packed:
                _put(packed, gzip.compress(tar, mtime=0), 0o644)
            for path in outdated:
                (home / path).unlink()
                for folder in (home / path).parents:
                    if folder == home or any(folder.iterdir()):
                        break
                    folder.rmdir()
            for path in sorted(differing, key=lambda one: (one in (SUMS, SIGNATURE), one)):
                _put(home / path, built[path], mode_of(path))
    except OSError as error:
        raise _unusable(directory, error) from error
    return bool(differing or outdated or not is_packed)


def _owned(home: Path) -> list[str]:
    """Files of the version that is there."""
    try:
        listed = (home / SUMS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError as error:
        raise ClusterError(f"{home / SUMS} is not a list of checksums: delete it, or choose another folder ({_VARIABLE}).") from error
    return [*(line[66:] for line in listed), SUMS, SIGNATURE]


def _has(path: Path, data: bytes) -> bool:
    return path.is_file() and not path.is_symlink() and path.read_bytes() == data


def _unpacked(path: Path) -> bytes:
    """The tar in an archive; none where there is no archive, or it is damaged. Its compressed bytes depend on the release of zlib."""
    try:
        return gzip.decompress(path.read_bytes())
    except (EOFError, FileNotFoundError, gzip.BadGzipFile, zlib.error):
        return b""


def _put(path: Path, data: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=_PARTIAL, delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.chmod(file.name, mode)
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)
            raise


def _unusable(directory: Path, error: OSError) -> ClusterError:
    return ClusterError(f"{_VARIABLE}: {directory} cannot be used: {error}. Choose a folder that you may write to.")
