# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bundles on the control node: C(DIRECTORY/SITE) with the present version, and C(DIRECTORY/SITE-vN.tar.gz) with each.

Files that the list of checksums of the present version does not name are not ours: they are neither changed nor deleted.
"""

from __future__ import annotations

import gzip
import os
import re
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from ..base.errors import ClusterError
from . import bundle_files

_VARIABLE = "flower_bundle_directory"
_PARTIAL = ".federated-flower-"


def last_version(directory: Path, site: str) -> int:
    """The highest version of which an archive is there; 0 for none."""
    found = (re.fullmatch(rf"{re.escape(site)}-v([1-9]\d{{0,8}})\.tar\.gz", path.name) for path in directory.glob(f"{site}-v*.tar.gz"))
    return max((int(one[1]) for one in found if one), default=0)


def refuse_others(directory: Path, site: str, federation: str, hub: str) -> None:
    """Check that no bundle of another federation is overwritten, which may have a site of the same name.

    Args:
        directory: of all bundles.
        site: its name.
        federation: the federation's name.
        hub: identity of its hub; empty while it is not known.

    Raises:
        ClusterError: a bundle of another federation is there, or files cannot be read.
    """
    home = directory / site
    try:
        there = {name: (home / name).read_bytes() for name in bundle_files.ORIGIN if (home / name).is_file()}
    except OSError as error:
        raise _unusable(directory, error) from error
    owner, owner_hub = bundle_files.origin(there)
    if owner and (owner != federation or (hub and owner_hub and hub != owner_hub)):
        whose = f"the federation {owner}" if owner != federation else f"another hub of the federation {owner}"
        raise ClusterError(
            f"{home} is of {whose}, and is not overwritten. Set {_VARIABLE} to another folder for each federation, or delete what is there of "
            f"{site}, archives of all versions included, if that federation does not exist any more."
        )


def write(directory: Path, site: str, version: int, built: Mapping[str, bytes], *, check: bool) -> bool:
    """Write the files that differ, and delete those of earlier versions; the list of checksums comes last. Returns whether any differed.

    Raises:
        ClusterError: a file is in the way that is not ours, or files cannot be read or written.
    """
    home, archive = directory / site, directory / f"{site}-v{version}.tar.gz"
    tar = bundle_files.archive(site, built)
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
        outdated, is_packed = there - built.keys(), _unpacked(archive) == tar
        if not check:
            if not is_packed:
                _put(archive, gzip.compress(tar, mtime=0), 0o644)
            for path in outdated:
                (home / path).unlink()
                for folder in (home / path).parents:
                    if folder == home or any(folder.iterdir()):
                        break
                    folder.rmdir()
            for path in sorted(differing, key=lambda one: (one in (bundle_files.SUMS, bundle_files.SIGNATURE), one)):
                _put(home / path, built[path], bundle_files.mode_of(path))
    except OSError as error:
        raise _unusable(directory, error) from error
    return bool(differing or outdated or not is_packed)


def _owned(home: Path) -> list[str]:
    """Files of the version that is there."""
    try:
        listed = (home / bundle_files.SUMS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError as error:
        raise ClusterError(f"{home / bundle_files.SUMS} is not a list of checksums: delete it, or choose another folder ({_VARIABLE}).") from error
    return [*(line[66:] for line in listed), bundle_files.SUMS, bundle_files.SIGNATURE]


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
