# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An archive while it is written: a hidden file beside its place, locked by the process that writes it.

A process that is killed leaves it behind, with the size that it had until then, and without the lock. So the next backup removes it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedRandom
from pathlib import Path

from ..base.errors import ClusterError
from .about import is_archive_name

_HIDDEN, _PART = ".", ".part"
# Some shared filesystems have no locks: then nothing tells a file that is being written from one that was left behind.
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


def path_of(target: Path) -> Path:
    """Where an archive is while it is written."""
    return target.with_name(f"{_HIDDEN}{target.name}{_PART}")


@contextmanager
def writing(target: Path) -> Iterator[BufferedRandom]:
    """The file, open for reading and writing, and locked. It is removed at the end unless it was renamed.

    Args:
        target: the archive.

    Raises:
        ClusterError: another process writes it, or another user has put a file there.
        OSError: it cannot be created.
    """
    part = path_of(target)
    with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "r+b") as file:
        if _lock(file.fileno()) is False or os.fstat(file.fileno()).st_nlink == 0:
            raise ClusterError(f"{target} is being written by another process: it is not overwritten. Run again a second later")
        facts = os.fstat(file.fileno())
        # In a shared folder, others may leave a file, or another name of one of ours.
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_nlink != 1:
            raise ClusterError(f"{part} belongs to another user, or is not a plain file: it is not used. Delete it, or choose another folder")
        try:
            file.truncate()
            yield file
        finally:
            part.unlink(missing_ok=True)


def remove_abandoned(folder: Path, federation: str) -> None:
    """Remove what processes that were killed have left of archives of a federation.

    Args:
        folder: of the archives.
        federation: its name. Files of others stay, and so do links.
    """
    for path in sorted(folder.glob(f"{_HIDDEN}*{_PART}")):
        name = path.name.removeprefix(_HIDDEN).removesuffix(_PART)
        if not is_archive_name(name, federation) or path.is_symlink() or not path.is_file():
            continue
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        except (FileNotFoundError, PermissionError):  # it is complete by now, or another user's
            continue
        try:
            if _lock(descriptor):
                path.unlink(missing_ok=True)
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Lock a file for as long as it is open; False where another process has the lock, None where there are no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # the latter on some shared filesystems
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        raise
    return True
