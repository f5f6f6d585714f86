# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The part of Open Cluster Management's operator that a hub's owner deals with: the feature gates of the ClusterManager.

The work manager runs as long as the gate ManifestWorkReplicaSet is on there, as with the real operator.
Runs as a supervised process: ``python -m flower_fleet.addons.ocm.gates STATE NAME SUBNET COMMAND ...``, the command being
the work manager's.
"""

from __future__ import annotations

import ipaddress
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...clusters.api import Api, ApiError
from ...clusters.group import BOUND
from ...settings import cluster as plan
from .manifests import GATE

PATH = "/apis/operator.open-cluster-management.io/v1/clustermanagers/cluster-manager"
PAUSE = 1.0  # seconds between looks


def enabled(manager: dict[str, Any]) -> bool:
    """Whether the ClusterManager has the gate on; it is off by default."""
    gates = (manager.get("spec", {}).get("workConfiguration") or {}).get("featureGates") or []
    return any(gate["feature"] == GATE and gate.get("mode") == "Enable" for gate in gates)


def report(api: Api, manager: dict[str, Any]) -> None:
    """Report in the status which generation of the ClusterManager is in force."""
    generation = manager["metadata"]["generation"]
    if manager.get("status", {}).get("observedGeneration") == generation:
        return
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    conditions = [
        {
            "type": kind,
            "status": "True",
            "reason": reason,
            "message": message,
            "observedGeneration": generation,
            "lastTransitionTime": now,
        }
        for kind, reason, message in (
            ("Applied", "ClusterManagerApplied", "Components of cluster manager are applied"),
            ("ValidFeatureGates", "FeatureGatesAllValid", "Feature gates are all valid"),
        )
    ]
    api.patch(f"{PATH}/status", {"status": {"observedGeneration": generation, "conditions": conditions}})


def main(arguments: Sequence[str]) -> None:
    """Serve until killed."""
    state, name, subnet, *command = arguments
    api = Api(plan(name, ipaddress.IPv4Network(subnet)), Path(state) / "pki")
    child: subprocess.Popen[bytes] | None = None
    while True:
        try:
            manager = api.get(PATH) or {}
            if child and (child.poll() is not None or not enabled(manager)):
                child.kill()
                child.wait()
                child = None
            if enabled(manager) and not child:
                child = subprocess.Popen([*BOUND, *command])
            if manager:
                report(api, manager)
        except (OSError, ApiError) as error:
            print(f"{time.strftime('%T')} {type(error).__name__}: {error}", flush=True)
        time.sleep(PAUSE)


if __name__ == "__main__":
    main(sys.argv[1:])
