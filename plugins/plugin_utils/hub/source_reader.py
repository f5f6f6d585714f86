# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read what a certificate source needs from the hub's cluster. The only I/O of the sources."""

from __future__ import annotations

from collections.abc import Iterable

from ..base.secret_data import CREDENTIALS
from ..kube.api_errors import NotServed
from ..kube.client import Cluster
from .sources.interface import Source
from .wanted import Observed, Ref, Wanted, secret_ref


def look(hub: Cluster, source: Source, wanted: Wanted, more: Iterable[Ref] = ()) -> Observed:
    """Everything that the source needs, and more.

    The collection's own Secrets come with one request for each namespace; what these do not return is read one by
    one.
    """
    seen = Observed()
    for namespace in (wanted.namespace, wanted.ca_namespace):
        for secret in hub.list("v1", "Secret", namespace, labels=f"app.kubernetes.io/component={CREDENTIALS}"):
            seen[secret_ref(namespace, secret["metadata"]["name"])] = secret
    asked = [*more, *source.reads(wanted, seen)]
    while asked:
        for ref in asked:
            read(hub, seen, ref)
        asked = [ref for ref in source.reads(wanted, seen) if ref not in seen]  # an object may refer to another
    return seen


def read(hub: Cluster, seen: Observed, ref: Ref) -> None:
    """Add one object, or all of a kind, to what was read, unless it is there."""
    if ref in seen:
        return
    try:
        if ref.name:
            seen[ref] = hub.get(ref.api_version, ref.kind, ref.name, ref.namespace)
        else:
            seen[ref] = hub.list(ref.api_version, ref.kind, ref.namespace)
    except NotServed:
        seen[ref] = None if ref.name else []
        seen.unserved.add(ref)
