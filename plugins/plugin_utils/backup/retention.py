# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which archives of a folder are removed: the oldest ones of one hub, and only what is proven to be one."""

from __future__ import annotations

from pathlib import Path

from ..base.errors import ClusterError
from .about import About, is_archive_name
from .archive_reader import head
from .archive_writer import SUM


def surplus(folder: Path, about: About, keep: int) -> list[Path]:
    """The archives beyond the C(keep) newest ones of a hub, the oldest first. Never the one that was just written, also where others have
    times in the future in their names, as after a wrong clock.

    An archive counts if its name is the one that its head gives it, and the head names this federation and hub. Links, archives
    of other schemas and files that cannot be read stay and do not count.

    Args:
        about: of the archive that was just written.
        keep: at least 1.
    """
    if keep < 1:
        raise ValueError("at least one archive is kept")
    ours = [path for path in sorted(folder.iterdir()) if _is_of(path, about)]
    return [path for path in ours[:-keep] if path.name != about.file_name]


def remove(paths: list[Path]) -> dict[Path, str]:
    """Remove archives and their checksums; returns those that stay, and why: the storage may not permit it, and the new archive is good all the same."""
    kept = {}
    for path in paths:
        try:
            path.unlink(missing_ok=True)  # another backup may have removed it
            path.with_name(f"{path.name}{SUM}").unlink(missing_ok=True)
        except OSError as error:
            kept[path] = error.strerror or str(error)
    return kept


def _is_of(path: Path, about: About) -> bool:
    if not is_archive_name(path.name, about.federation) or path.is_symlink() or not path.is_file():
        return False
    try:
        found = head(path)
    except ClusterError:  # it may be another collection's, or damaged: it is not proven to be ours, so it stays
        return False
    return (found.federation, found.hub, found.file_name) == (about.federation, about.hub, path.name)
