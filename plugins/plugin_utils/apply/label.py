# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Set one label of an object of someone else, and change nothing else of it.

Not by server-side apply: all federations have the same field manager, so an apply without the label of another federation would remove that
label (Kubernetes documentation, «Server-Side Apply»). A merge patch of one key (RFC 7386) leaves all others alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.errors import ClusterError
from ..kube.api_errors import ApiError
from ..kube.client import Cluster
from . import results
from .order import id_of
from .results import Recorder, Result

Object = Mapping[str, Any]


def set_label(
    cluster: Cluster,
    live: Object,
    key: str,
    value: str | None,
    *,
    check: bool = False,
    show_diff: bool = False,
) -> Result:
    """Set a label of an object that exists, or remove it.

    Args:
        cluster: a connection.
        live: the object.
        key: of the label.
        value: of the label; None to remove it.
        check: nothing is written.
        show_diff: keep what differs.

    Raises:
        ClusterError: the API server refuses it.
    """
    recorder = Recorder((), show_diff)
    result = recorder.result
    if (live["metadata"].get("labels") or {}).get(key) == value:
        return result
    which, api_version = id_of(live), str(live["apiVersion"])
    labels = {name: text for name, text in {**(live["metadata"].get("labels") or {}), key: value}.items() if text is not None}
    if not check:
        try:
            cluster.patch(api_version, which.kind, which.name, which.namespace or None, {"metadata": {"labels": {key: value}}})
        except ApiError as error:
            raise ClusterError(f"{which}: the label {key} cannot be changed: {results.describe_error(error)[1]}.") from error
        result.requests = 1
    meta = {"name": which.name, **({"namespace": which.namespace} if which.namespace else {})}
    result.changed = True
    recorder.record(which, api_version, "changed", {"apiVersion": api_version, "kind": which.kind, "metadata": {**meta, "labels": {key: value}}})
    recorder.show(which, dict(live), {**live, "metadata": {**live["metadata"], "labels": labels}})
    return result
