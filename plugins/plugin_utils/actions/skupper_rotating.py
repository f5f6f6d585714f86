# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hub's side of a rotation in a Skupper network: reads what there is, and does one step. A step writes one object.

A Secret is recreated by deleting it: Skupper then recreates it for its Certificate, within half a minute. That is done with
nothing but Secrets, so no Link, Site or RouterAccess is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..base.errors import ClusterError
from ..base.secret_data import encode, entries
from ..kube.api_errors import Conflict
from ..kube.client import Cluster
from ..manifests import skupper
from ..pki import certificates
from ..skupper import hub_secrets, link_credentials, rotation_plan, sites, state
from ..skupper.ownership import is_made, is_ours
from ..skupper.state import State
from .skupper_action import SkupperAction

_CUT = "0"  # prior revisions that stay valid


class HubRotation:
    """The hub's part.

    Args:
        action: keeps account of what is done.
        cluster: a connection to the hub.
        namespace: of its Site.
        seconds: how long to wait for one thing.
    """

    def __init__(self, action: SkupperAction, cluster: Cluster, namespace: str, seconds: float) -> None:
        self.action = action
        self.cluster = cluster
        self.namespace = namespace
        self.seconds = seconds

    def site(self) -> Mapping[str, Any]:
        """The hub's Site.

        Raises:
            ClusterError: there is none.
        """
        found = sites.active(hub_secrets.listed(self.cluster, "Site", self.namespace))
        if found is None:
            raise ClusterError(
                f"there is no Site in namespace {self.namespace} of {self.cluster.name}: run federated.flower.site first."
            )
        return found

    def fault(self, kind: str) -> str:
        """Why something of this kind (C(rotation_plan.CA) or C(SERVER)) must be replaced by its owner; empty if it is Skupper's own."""
        found = self.site()
        if not is_ours(found):
            return (
                f"{state.named(found)} on {self.cluster.name} was created by someone else, so its CA and the certificate of its router must be "
                "replaced by their owner: other links may depend on them. Certificates of links that this collection created are renewed by "
                "federated.flower.site"
            )
        names = [skupper.SITE_SERVER]
        if kind == rotation_plan.CA and rotation_plan.stage(self.read()) not in (rotation_plan.BEGUN, rotation_plan.OVERLAP):
            names.insert(0, hub_secrets.ca_name(found))
        secrets = [(name, self.cluster.get("v1", "Secret", name, self.namespace)) for name in names]
        return next((self._given(name) for name, live in secrets if live is not None and not is_made(live)), "")

    def _given(self, name: str) -> str:
        return (
            f"Secret {self.namespace}/{name} on {self.cluster.name} was not created by Skupper but by someone else, and its key would be lost if it was "
            "deleted to be recreated. Its owner must replace its content; federated.flower.skupper_rotate then continues with the sites"
        )

    def read(self) -> rotation_plan.Hub:
        """The content of the Secrets."""
        return hub_secrets.read(self.cluster, self.namespace)

    # ---- steps -------------------------------------------------------------------------------------------------------

    def step(self, which: str) -> None:
        """Do one step (see C(rotation.next_step)) and wait for its result."""
        if which == rotation_plan.REPLACE_CA:
            self._anew(hub_secrets.ca_name(self.site()), lambda made: "")
        elif which == rotation_plan.TRUST_BOTH:
            self._trust_both()
        elif which == rotation_plan.REPLACE_SERVER:
            ca = self.read().ca

            def fault(made: Mapping[str, str]) -> str:
                return (
                    ""
                    if link_credentials.issued_by(made["tls.crt"], ca)
                    else "its certificate is still of the previous CA"
                )

            self._anew(skupper.SITE_SERVER, fault)

    def _anew(self, name: str, fault: Callable[[Mapping[str, str]], str]) -> None:
        """Delete a Secret, and wait until Skupper has recreated it with another certificate."""
        live = self.cluster.get("v1", "Secret", name, self.namespace)
        old = entries(live).get("tls.crt", "")
        if live is not None:
            if not is_made(live):
                raise ClusterError(f"{self._given(name)}.")
            try:
                self.cluster.delete(
                    "v1", "Secret", name, self.namespace, uid=live["metadata"]["uid"], propagation="Background"
                )
            except Conflict as error:
                raise ClusterError(
                    f"Secret {self.namespace}/{name} on {self.cluster.name} was recreated by someone else during this run. Run again."
                ) from error
            self._note("deleted", name)

        def look() -> State:
            secret = self.cluster.get("v1", "Secret", name, self.namespace)
            made = entries(secret)
            if not made.get("tls.crt") or not made.get("tls.key") or made["tls.crt"] == old:
                return State(False, "Skupper has not recreated it")
            why = fault(made)
            return State(not why, why)

        found = self.action.wait(self.seconds, look)
        if not found.ready:
            raise ClusterError(
                f"Secret {self.namespace}/{name} on {self.cluster.name} was not recreated after {self.seconds:g} s: {found.why}. Is "
                "Skupper's controller running?"
            )
        made = entries(self.cluster.get("v1", "Secret", name, self.namespace))
        told = link_credentials.describe(made["tls.crt"])
        self.action.note(
            self.cluster.name,
            certificates=[{"change": "issued", "name": name, "serial": told["serial"], "not_after": told["not_after"]}],
        )

    def _trust_both(self) -> None:
        """Have the hub's router trust the new CA in addition to the old one. Skupper does not check this entry again."""
        hub = self.read()
        both = link_credentials.bundle(hub.server.get("ca.crt", ""), certificates.first(hub.ca))
        patch: dict[str, Any] = {"data": {"ca.crt": encode(both)}}
        if self._prior_revisions() == _CUT:
            # Left by a revocation. With it, this change would close all connections once more.
            patch["metadata"] = {"annotations": {skupper.PRIOR_REVISIONS: None}}
        self.cluster.patch("v1", "Secret", skupper.SITE_SERVER, self.namespace, patch)
        self._note("changed", skupper.SITE_SERVER)

    # ---- cutting connections -----------------------------------------------------------------------------------------

    def cut(self) -> bool:
        """Close connections with previous certificates; returns whether it was needed.

        A router keeps connections of some previous revisions of a Secret open. With none to keep, sites with a valid
        certificate connect again at once. The mark stays until the next rotation of the CA: it is not known when Skupper
        has processed it, and if it is removed before that no connection is closed.
        """
        if self._prior_revisions() == _CUT:
            return False
        patch = {"metadata": {"annotations": {skupper.PRIOR_REVISIONS: _CUT}}}
        self.cluster.patch("v1", "Secret", skupper.SITE_SERVER, self.namespace, patch)
        self._note("changed", skupper.SITE_SERVER)
        return True

    def _prior_revisions(self) -> str | None:
        """How many previous revisions of the router's certificate stay valid, according to its Secret."""
        live = self.cluster.get("v1", "Secret", skupper.SITE_SERVER, self.namespace) or {}
        return ((live.get("metadata") or {}).get("annotations") or {}).get(skupper.PRIOR_REVISIONS)

    def _note(self, change: str, name: str) -> None:
        self.action.done["changed"] = True
        entry = {"apiVersion": "v1", "kind": "Secret", "namespace": self.namespace, "name": name, "change": change}
        self.action.done["hub_objects"].append(entry)
        if not self.action.check:
            self.action.note(
                self.cluster.name, objects=[{"change": change, "object": f"Secret {self.namespace}/{name}"}]
            )
