# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod through which a backup is put into a volume is admitted wherever the SuperLink is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.backup import volume_pod


def test_what_policies_of_the_cluster_demand(parsed_hub: Callable[..., Any]) -> None:
    spec = parsed_hub(pod_labels={"cost-center": "42"}, pod_annotations={"example.com/scan": "no"}, annotations={"example.com/owner": "x"})
    meta = volume_pod.pod(spec)["metadata"]
    assert meta["labels"]["cost-center"] == "42" and meta["labels"]["app.kubernetes.io/name"] == "superlink-restore"
    assert meta["annotations"] == {"example.com/scan": "no", "example.com/owner": "x"}
