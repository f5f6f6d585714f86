# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hub's side of a rotation: reads what there is, and does one step. Every step writes one object."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..apply.compare import as_applied
from ..apply.engine import apply_objects
from ..apply.redacted_diff import content_digest
from ..base.certificate_names import next_server_name
from ..base.errors import ClusterError
from ..base.object_names import CA_SECRET, FEDERATION_CONFIG, GATEWAY_NEXT_SECRET, SUPERLINK
from ..base.secret_data import encode, entries, secret
from ..kube import stuck_pods
from ..kube.api_errors import Conflict
from ..kube.client import FIELD_MANAGER, Cluster
from ..marks import proof
from ..pki import certificates, chain
from ..state.audit_notes import of_objects
from . import ca_state as ca
from . import clocks, gateway_certificates, machine
from .authority import DAMAGED, trust_bundle
from .ca_state import State
from .gateway_certificates import Gateway

_ROTATION_SECONDS = 90  # until a Secret is served that a kubelet must update


class RotationError(ClusterError):
    """A rotation cannot continue. The text has object, reason and remedy."""


@dataclass(frozen=True)
class Settings:
    """What a rotation needs of its federation. C(lifetime) is that of the gateway's certificate.

    Attributes:
        handed_in: a CA that comes from variables; it signs instead of that of the Secret, and is never replaced here.
    """

    federation: str
    namespace: str
    ca_namespace: str
    lifetime: datetime.timedelta
    ca_lifetime: datetime.timedelta
    handed_in: certificates.Issued | None = field(default=None, repr=False)


class Hub:
    """The hub of one federation. C(note) records for the audit trail what was written, right after it was (C(ClusterAction.note))."""

    def __init__(self, cluster: Cluster, settings: Settings, note: Callable[..., None]) -> None:
        self.cluster = cluster
        self.settings = settings
        self.note = note
        self.gateway = Gateway(cluster, settings.namespace)
        #: Messages for the user about what was done.
        self.warnings: list[str] = []

    # ---- what there is -----------------------------------------------------------------------------------------------

    def is_deployed(self) -> bool:
        """Whether there is a federation, with a gateway that can serve two certificates."""
        reported = self.cluster.get("v1", "ConfigMap", FEDERATION_CONFIG, self.settings.namespace)
        return reported is not None and self.gateway.is_able()

    def publication(self) -> dict[str, Any]:
        """The ConfigMap for sites."""
        found = self.cluster.get("v1", "ConfigMap", FEDERATION_CONFIG, self.settings.namespace)
        if found is None:
            raise RotationError(
                f"there is no federation in namespace {self.settings.namespace} of {self.cluster.name}: deploy it first, or "
                "correct flower_namespace and flower_hub_group"
            )
        return found

    def ca(self) -> tuple[dict[str, Any], State]:
        """The Secret of the CA, and its state."""
        place = f"Secret {self.settings.ca_namespace}/{CA_SECRET} on {self.cluster.name}"
        live = self.cluster.get("v1", "Secret", CA_SECRET, self.settings.ca_namespace)
        if live is None:
            raise RotationError(
                f"{place} does not exist: it is in another namespace (flower_ca_namespace), or the CA is lost, and then site.yml "
                "creates another one and starts its rotation"
            )
        try:
            state = ca.read(entries(live), live["metadata"].get("annotations") or {})
            chain.read(state.authority.current.certificate)
        except ca.StateError as error:
            raise RotationError(f"{place}: {error}") from error
        except chain.ChainError as error:
            raise RotationError(f"{place}: tls.crt {error}; {DAMAGED}") from error
        current = state.authority.current
        if current.key and chain.unusable(current.certificate, current.key):  # as good as lost
            state = replace(state, authority=replace(state.authority, current=replace(current, key="")))
        return live, state

    def secret(self, name: str) -> dict[str, str]:
        """Decoded entries of a Secret in the SuperLink's namespace; empty when there is none."""
        return entries(self.cluster.get("v1", "Secret", name, self.settings.namespace))

    def gateway_secret(self) -> dict[str, Any]:
        """The live Secret with the certificate that the gateway serves."""
        name = self.gateway.secret()
        found = self.cluster.get("v1", "Secret", name, self.settings.namespace)
        if found is None:
            raise RotationError(
                f"the gateway on {self.cluster.name} serves Secret {self.settings.namespace}/{name}, which does not exist: run "
                "site.yml, which creates it or reports what is missing"
            )
        return found

    def facts(self, state: State | None, now: datetime.datetime) -> machine.Facts:
        """What the state machine needs of the hub. C(state): the CA; None where it is not ours."""
        reported = self.publication()["data"]
        name = reported["server_name"]
        own, extra = self.secret(self.gateway.secret()), self.secret(GATEWAY_NEXT_SECRET)
        shown = self.gateway.served([name, next_server_name(name)])
        # Under a name that it has no certificate for, the gateway serves the one for sites.
        tried = "" if shown[1] == shown[0] else shown[1]
        return machine.Facts(
            now=now,
            published=trust_bundle(reported["ca.crt"]),
            leaf=gateway_certificates.leaf_facts(own, state, gateway_certificates.needed_names(reported), shown[0], now),
            test_leaf=gateway_certificates.leaf_facts(extra, state, gateway_certificates.next_names(gateway_certificates.names_in(own)), tried, now),
            current_valid=state is None or not gateway_certificates.has_expired(certificates.describe(state.authority.current.certificate), now),
        )

    # ---- steps -------------------------------------------------------------------------------------------------------

    def do(self, step: machine.Step, now: datetime.datetime) -> None:
        """Do a step of the machine that is the hub's.

        Raises:
            RotationError: it failed; or someone else was faster, and the state must be read again.
        """
        changes: dict[str, Callable[[State], State]] = {
            machine.SWITCH: lambda state: ca.switch(state, now),
            machine.DROP: ca.drop,
            machine.FINISH: ca.finish,
        }
        try:
            if step.name in changes:
                self._change_ca(changes[step.name])
            elif step.name == machine.BEGIN:
                clocks.require_clock(self.cluster)
                new = certificates.make_ca(certificates.ca_name(self.settings.federation, "federation CA"), self.settings.ca_lifetime)
                self._change_ca(lambda state: ca.begin(state, new, now), certificates=[issued_facts(CA_SECRET, new.certificate)])
            elif step.name == machine.PUBLISH:  # for sites that join
                self.note(objects=apply_trust(self.cluster, self.publication(), self.ca()[1].bundle))
            elif step.name == machine.ISSUE:
                self.issue()
            elif step.name == machine.SERVE:
                self.serve()
            elif step.name == machine.ISSUE_NEXT:
                signer = self.ca()[1].authority.next
                if signer is None:
                    raise ca.StateError("there is no next CA: another control node completed the rotation; run again")
                names = gateway_certificates.next_names(self._signer()[1])
                self._write_leaf(GATEWAY_NEXT_SECRET, gateway_certificates.issue(signer, names, self.settings.lifetime))
            elif step.name == machine.SERVE_NEXT:  # a new file takes a reload
                self.refresh_files()
                self._wait_served(next_server_name(self.publication()["data"]["server_name"]), self.secret(GATEWAY_NEXT_SECRET)["tls.crt"])
            elif step.name == machine.REMOVE_NEXT:
                self._remove_next()
        except Conflict as error:
            raise RotationError(f"{error.message}: another run works on the same federation; run again when it is complete") from error
        except ca.StateError as error:
            raise RotationError(f"{self.cluster.name}: {error}") from error

    def _change_ca(self, change: Callable[[State], State], **facts: list[Any]) -> None:
        """Write another state of the CA."""
        live, state = self.ca()
        state = change(state)
        notes = {**(live["metadata"].get("annotations") or {}), **state.notes()}
        live["metadata"]["annotations"] = {name: text for name, text in notes.items() if text is not None}
        live["data"] = {name: encode(value) for name, value in state.authority.entries().items()}
        self.cluster.replace(live)
        words = f"the rotation of the CA is {'complete' if state.phase == ca.IDLE else state.phase}"
        self.note(objects=changed_facts("Secret", live), words=[words], **facts)

    def issue(self) -> None:
        """Put a new certificate of the current CA into the gateway's Secret."""
        signer, names = self._signer()
        if not signer.key:
            raise RotationError(
                f"Secret {self.settings.ca_namespace}/{CA_SECRET} on {self.cluster.name} has lost its key, so nothing can be issued: "
                "replace the CA (flower_rotate=ca)"
            )
        self._write_leaf(self.gateway.secret(), gateway_certificates.issue(signer, names, self.settings.lifetime))

    def _signer(self) -> tuple[certificates.Issued, list[str]]:
        """Who signs, and the names of the gateway's next certificate.

        Raises:
            ClusterError: the clock of the control node is ahead.
        """
        signer = self.settings.handed_in
        ours = signer.certificate if signer else ""
        if not signer:
            state = self.ca()[1]
            signer, ours = state.authority.current, state.bundle
        names = gateway_certificates.names_to_issue(self.secret(self.gateway.secret()), ours, self.publication()["data"])
        clocks.require_clock(self.cluster)
        return signer, names

    def _write_leaf(self, name: str, data: Mapping[str, str]) -> None:
        wanted = secret(self.settings.federation, self.settings.namespace, name, data, application="superlink")
        outcome = apply_objects(self.cluster, [wanted])
        self.note(objects=of_objects(outcome.objects), certificates=[issued_facts(name, data["tls.crt"])])

    def serve(self) -> None:
        """Have the gateway serve what is in its Secret: at once through its runtime API, and by its files for later."""
        found = self.secret(self.gateway.secret())
        self.warnings += self.gateway.push(found["tls.crt"] + found["tls.key"])
        self.refresh_files()
        self._wait_served(self.publication()["data"]["server_name"], found["tls.crt"])

    def refresh_files(self) -> None:
        """Have the kubelet update the files of the gateway's pod now; the gateway loads them."""
        stuck_pods.touch_pods(self.cluster, self.settings.namespace, proof.pods_query(self.settings.federation, SUPERLINK))

    def _wait_served(self, name: str, certificate: str) -> None:
        serial = certificates.describe(certificate)["serial"]
        shown = self.gateway.wait_served(name, serial, _ROTATION_SECONDS)
        if shown != serial:
            raise RotationError(
                f"the gateway on {self.cluster.name} does not serve certificate {serial} for {name} after {_ROTATION_SECONDS} s: "
                f"{shown}. See its log (container gateway of pod superlink-0)"
            )

    def _remove_next(self) -> None:
        """Delete the Secret of the certificate that was tried."""
        namespace = self.settings.namespace
        live = self.cluster.get("v1", "Secret", GATEWAY_NEXT_SECRET, namespace)
        if live is not None:
            uid = live["metadata"]["uid"]
            self.cluster.delete("v1", "Secret", GATEWAY_NEXT_SECRET, namespace, uid=uid, propagation="Background")
        self.note(objects=of_objects([{"kind": "Secret", "namespace": namespace, "name": GATEWAY_NEXT_SECRET, "change": "deleted"}]))
        self.refresh_files()


def issued_facts(name: str, certificate: str) -> dict[str, str]:
    """The audit facts of a certificate that was issued."""
    facts = certificates.describe(certificate)
    return {"change": "issued", "name": name, **{key: facts[key] for key in ("serial", "fingerprint", "not_after")}}


def changed_facts(kind: str, written: Mapping[str, Any], sha256: str = "") -> list[dict[str, str]]:
    """The audit facts of a changed object."""
    where = {key: written["metadata"][key] for key in ("namespace", "name")}
    return of_objects([{"kind": kind, **where, "change": "changed", "sha256": sha256}])


def apply_trust(cluster: Cluster, live: dict[str, Any], bundle: str) -> list[dict[str, str]]:
    """Put another CA bundle into a ConfigMap that was applied before, as read: if someone has changed it since, this fails with a conflict.

    Returns:
        Its audit facts; nothing when it had this CA bundle.
    """
    if trust_bundle(live["data"].get("ca.crt", "")) == bundle:
        return []
    wanted = as_applied({"apiVersion": "v1", "kind": "ConfigMap", **live}, FIELD_MANAGER)
    place = f"ConfigMap {live['metadata']['namespace']}/{live['metadata']['name']} on {cluster.name}"
    if wanted is None:
        raise RotationError(f"{place} was not created by this collection: run site.yml first")
    wanted["data"] = {**wanted.get("data", {}), "ca.crt": bundle}
    cluster.apply(wanted)
    del wanted["metadata"]["resourceVersion"]
    return changed_facts("ConfigMap", wanted, content_digest(wanted))
