# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the actions of a run in check mode would apply, host by host, until M(federated.flower.render) writes it into files."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..manifests import gitops
from . import check_notes

# Set by render.yml alone: the folder for the files may stand in an inventory, and other playbooks in check mode say what they would change.
VARIABLE = "__render_objects"


def _name(host: str) -> str:
    return f"render-{hashlib.sha256(host.encode()).hexdigest()[:32]}"


def keep(host: str, objects: Iterable[Mapping[str, Any]], site: str = "") -> None:
    """Keep what a GitOps controller may have of the objects that would be applied. Safe for concurrent forks and threads.

    Args:
        host: inventory name of the cluster in which they are.
        site: inventory name of the site for which they are there, if that is another cluster.
    """
    check_notes.add(_name(host), {"site": site, "objects": list(gitops.chosen(objects))})


def kept(host: str) -> list[Mapping[str, Any]] | None:
    """Each object that was kept for a host, once; None where nothing was rendered."""
    parts = check_notes.read(_name(host))
    return None if parts is None else gitops.latest(item for part in parts for item in part["objects"])


def served(host: str) -> set[str]:
    """The sites for which objects were kept in another cluster, that of the host."""
    return {part["site"] for part in check_notes.read(_name(host)) or [] if part["site"]}


def incomplete(hub: str, sites: Iterable[str], found: Collection[str]) -> str:
    """Why the file of the hub cannot be written: it would lose what some sites have there; empty if it can.

    Args:
        hub: inventory name of the hub.
        sites: all sites of the fleet whose objects are in its cluster.
        found: those of them for which objects were kept.
    """
    lost = ", ".join(site for site in sites if site not in found)
    if not lost:
        return ""
    return (
        f"{hub}: its file also has what Open Cluster Management delivers to the sites behind it, and nothing was rendered for {lost}: the file "
        f"would lose that. No file is written. Include {hub} and all of these sites in --limit, and resolve what is reported for them; or leave "
        f"{hub} out for now (--limit 'all:!{hub}')."
    )


def elsewhere(hub: str, hosts: Collection[str], sites: Iterable[str]) -> str:
    """Which hosts get no file, since what is rendered for them is in that of the hub, which is not written; empty for none.

    Args:
        hub: inventory name of the hub.
        hosts: those whose files are written.
        sites: all sites of the fleet whose objects are in the hub's cluster.
    """
    without = ", ".join(site for site in sites if site in hosts)
    if not without or hub in hosts:
        return ""
    return (
        f"{without}: what Open Cluster Management delivers there is in the file of {hub}, which --limit leaves out, so nothing is written for it. "
        f"Include {hub} in --limit, with all sites that it delivers to."
    )
