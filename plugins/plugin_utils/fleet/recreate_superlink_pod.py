# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Have a SuperLink pod created again that can never be ready."""

from __future__ import annotations

import time
from typing import Any

from ..base.object_names import SUPERLINK
from ..base.values import Object
from ..flower.cli import CONTAINER, FlowerCLI
from ..kube import pod_health, stuck_pods
from ..kube.client import Cluster
from ..kube.pod_health import is_ready
from ..marks import proof
from ..sites.site import Run

# A claim is bound before its pod gets a node: what is seen for this long is not a matter of order. Seconds.
_PATIENCE = 15.0
_PAUSE = 3.0


class Rescue:
    """Deletes the pod of a federation's SuperLink if it has a former template and is not ready; and, once, if it waits without end for its volume.

    C(host) is the hub's inventory name.
    """

    def __init__(self, run: Run, hub: Cluster, host: str, federation: str) -> None:
        self.run, self.hub, self.host, self.federation = run, hub, host, federation
        self._since: tuple[str, float] | None = None
        self._checked_at = 0.0
        self._done = False

    def wait(self, cli: FlowerCLI, seconds: float) -> None:
        """Wait until the SuperLink container is ready, and look at its pod meanwhile.

        Raises:
            FlowerError: with its last state, when it is not ready after C(seconds).
        """
        pod = cli.wait_for_superlink(seconds, waiting=self)
        # Another container of a former template may never be ready.
        if self._replaced_outdated(pod):
            cli.wait_for_superlink(seconds, waiting=self)

    def __call__(self, pod: Object) -> None:
        """Look at the pod, whose SuperLink container is not ready."""
        now = time.monotonic()
        owners: list[dict[str, Any]] = pod["metadata"].get("ownerReferences") or []
        is_ours = any((one.get("kind"), one.get("name")) == ("StatefulSet", SUPERLINK) for one in owners) and proof.belongs(pod, self.federation)
        if now - self._checked_at < _PAUSE or not is_ours:
            return
        self._checked_at = now
        if self._replaced_outdated(pod) or self._done:
            return
        claim, uid = stuck_pods.claim_of(self.hub, pod), str(pod["metadata"]["uid"])
        if not claim:
            self._since = None
        elif self._since is None or self._since[0] != uid:
            self._since = uid, now
        elif now - self._since[1] >= _PATIENCE:
            self._done = True
            self._replace(pod, f"it waited forever for its volume {claim}, which was deleted before")

    def _replaced_outdated(self, pod: Object) -> bool:
        if is_ready(pod):
            return False
        owner = self.hub.get("apps/v1", "StatefulSet", SUPERLINK, pod["metadata"]["namespace"])
        if owner is None or not pod_health.is_outdated(pod, owner, self.federation, CONTAINER):
            return False
        self._replace(pod, pod_health.RECREATED)
        return True

    def _replace(self, pod: Object, why: str) -> None:
        stuck_pods.replace_pod(self.hub, pod)
        words = f"pod {pod['metadata']['name']} was created again: {why}"
        self.run.say(f"{self.host}: {words}")
        self.run.note(self.host, words=[words])
