# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Bundles on the control node: C(DIRECTORY/SITE) with the present version, and C(DIRECTORY/SITE-vN.tar.gz) with each.

What is not in the list of checksums of the version that lies there is not ours: it is neither changed nor deleted.
"""

from __future__ import annotations

import gzip
import os
import re
import tarfile
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from ..base.errors import ClusterError
from . import bundle_files

_VARIABLE = "flower_bundle_directory"
_HALF = ".federated-flower-"


def archive_path(directory: Path, site: str, version: int) -> Path:
    """Where the archive of a version is."""
    return directory / f"{site}-v{version}.tar.gz"


def last(directory: Path, site: str) -> int:
    """The highest version of which an archive is there; 0 for none."""
    found = (re.fullmatch(rf"{re.escape(site)}-v([1-9]\d{{0,8}})\.tar\.gz", path.name) for path in directory.glob(f"{site}-v*.tar.gz"))
    return max((int(one[1]) for one in found if one), default=0)


def refuse_others(directory: Path, site: str, version: int, federation: str, hub: str) -> None:
    """See that nothing of another federation is overwritten, which may have a site of the same name.

    Args:
        directory: of all bundles.
        site: its name.
        version: that whose files may be written.
        federation: the federation's name.
        hub: identity of its hub; empty while it is not known.

    Raises:
        ClusterError: a bundle of another federation is there, or files cannot be read. An archive that cannot be unpacked is of use to no one,
            and is overwritten.
    """
    home = directory / site
    packed = archive_path(directory, site, version)
    try:
        there = {home: {name: (home / name).read_bytes() for name in bundle_files.ORIGIN if (home / name).is_file()}}
        there |= {packed: _unpacked(packed, site)} if packed.is_file() else {}
    except OSError as error:
        raise _unusable(directory, error) from error
    for path, held in there.items():
        of, at = bundle_files.origin(held)
        if not of or (of == federation and (not hub or not at or hub == at)):
            continue
        whose = f"the federation {of}" if of != federation else f"another hub of the federation {of}"
        raise ClusterError(
            f"{path} is of {whose}, and is not overwritten. Set {_VARIABLE} to another folder for each federation, or delete what is there of "
            f"{site}, archives of all versions included, if that federation does not exist any more."
        )


def _unpacked(path: Path, site: str) -> dict[str, bytes]:
    """Of an archive the files that say whose it is; none of one that cannot be read."""
    found = {}
    try:
        with tarfile.open(path) as tar:
            for entry in tar:
                name = entry.name.removeprefix(f"{site}/")
                content = tar.extractfile(entry) if name in bundle_files.ORIGIN else None
                if content is not None:
                    found[name] = content.read()
    except (EOFError, OSError, tarfile.TarError, zlib.error):
        return {}
    return found


def differing(directory: Path, site: str, version: int, built: Mapping[str, bytes]) -> list[Path]:
    """Files that are not there as they should be, and those of an earlier version that must go.

    Raises:
        ClusterError: a file is in the way that is not ours, or files cannot be read.
    """
    home = directory / site
    try:
        owned = _owned(home)
        there = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_symlink() or not path.is_dir()} if home.exists() else set()
        # A run that was interrupted has written some of the new files, and may have left one half.
        begun = {path for path in built if owned or _has(home / path, built[path])}
        begun |= {path for path in there if path.rpartition("/")[2].startswith(_HALF)}
        foreign = sorted(there - set(owned) - begun)
        if foreign:
            raise ClusterError(
                f"{home} has files that are not part of a bundle ({', '.join(foreign[:3])}), and is not changed. Move them, or choose another "
                f"folder ({_VARIABLE})."
            )
        found = [home / path for path, data in built.items() if not _has(home / path, data)]
        found += [home / path for path in sorted(there - set(built))]
        packed = archive_path(directory, site, version)
        if not _packs(packed, bundle_files.archive(site, built)):
            found.append(packed)
    except OSError as error:
        raise _unusable(directory, error) from error
    return found


def write(directory: Path, site: str, version: int, built: Mapping[str, bytes], paths: list[Path]) -> None:
    """Write or delete the files that C(differing) found; the list of checksums comes last.

    Raises:
        ClusterError: a file cannot be written.
    """
    home = directory / site
    packed = archive_path(directory, site, version)
    try:
        for path in sorted(paths, key=lambda one: one.name in (bundle_files.SUMS, bundle_files.SIGNATURE)):
            name = path.relative_to(home).as_posix() if path != packed else ""
            if path == packed:
                _put(path, gzip.compress(bundle_files.archive(site, built), mtime=0), 0o644)
            elif name in built:
                _put(path, built[name], bundle_files.mode_of(name))
            else:
                path.unlink()
                _prune(path.parent, home)
    except OSError as error:
        raise _unusable(directory, error) from error


def _owned(home: Path) -> list[str]:
    """Files of the version that lies there."""
    try:
        listed = (home / bundle_files.SUMS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError as error:
        raise ClusterError(f"{home / bundle_files.SUMS} is not a list of checksums: delete it, or choose another folder ({_VARIABLE}).") from error
    return [*(line[66:] for line in listed), bundle_files.SUMS, bundle_files.SIGNATURE]


def _has(path: Path, data: bytes) -> bool:
    return path.is_file() and not path.is_symlink() and path.read_bytes() == data


def _packs(path: Path, tar: bytes) -> bool:
    if not path.is_file():
        return False
    try:
        return gzip.decompress(path.read_bytes()) == tar
    except (EOFError, OSError, zlib.error):
        return False


def _put(path: Path, data: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=_HALF, delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.chmod(file.name, mode)
            os.replace(file.name, path)
        except OSError:
            os.unlink(file.name)
            raise


def _prune(folder: Path, home: Path) -> None:
    while folder != home and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _unusable(directory: Path, error: OSError) -> ClusterError:
    return ClusterError(f"{_VARIABLE}: {directory} cannot be used: {error}. Choose a folder that you may write to.")
