# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rotation of shared secrets and internal certificates, and the restarts that they take.

A mark on the Secret of the internal CA shows that this was started; every Secret that was recreated since has the same mark. So
a run that resumes recreates none twice, and pods are restarted that run with an older one.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

from ..apply.engine import apply_objects
from ..base.secret_data import entries, secret, written_at
from ..kube.client import Cluster
from ..marks import proof
from ..pki import certificates as pki
from ..site_keys.keys import MARK
from ..state.audit_notes import of_objects
from . import internal_secrets, outdated_pods, site_proof
from .hub_steps import Hub, RotationError, changed_facts, issued_facts

BEGUN = "federated.flower/secrets-begun"

# Pods of the hub: label, container, file -> (Secret, entry).
_Files = dict[str, tuple[str, str]]
_IN_SUPERLINK: _Files = {"/superexec/secret": (internal_secrets.SUPEREXEC, "secret"), "/internal/tls.crt": (internal_secrets.INTERNAL, "tls.crt")}
_IN_SERVERAPP: _Files = {"/superexec/secret": (internal_secrets.SUPEREXEC, "secret"), "/internal-ca/ca.crt": (internal_secrets.INTERNAL, "ca.crt")}
_PODS = (("superlink", "superlink", _IN_SUPERLINK), ("serverapp", "superexec", _IN_SERVERAPP))


class SecretsRotation:
    """The rotation of the hub's shared secrets and internal certificates."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.cluster = hub.cluster
        self.settings = hub.settings

    def _authority(self) -> dict[str, Any]:
        found = self.cluster.get("v1", "Secret", internal_secrets.INTERNAL_CA, self.settings.ca_namespace)
        if found is None:
            raise RotationError(
                f"Secret {self.settings.ca_namespace}/{internal_secrets.INTERNAL_CA} on {self.cluster.name} does not exist: run "
                "site.yml, or correct flower_ca_namespace"
            )
        return found

    def started(self) -> str | None:
        """The mark of a started rotation that is not complete."""
        return (self._authority()["metadata"].get("annotations") or {}).get(BEGUN)

    def begin(self, now: datetime.datetime) -> str:
        """Start, or resume; returns the mark."""
        mark = self.started() or now.isoformat(timespec="seconds")
        self._set_mark(mark, "the rotation of shared secrets and internal certificates was started")
        return mark

    def complete(self, words: str) -> bool:
        """Record that it is complete; returns whether it was open. C(words) are for the audit trail."""
        return self._set_mark(None, words)

    def _set_mark(self, mark: str | None, words: str) -> bool:
        live = self._authority()
        notes = live["metadata"].setdefault("annotations", {})
        if notes.pop(BEGUN, None) == mark:
            return False
        if mark:
            notes[BEGUN] = mark
        self.cluster.replace(live)
        self.hub.note(objects=changed_facts("Secret", live), words=[words])
        return True

    def make(self, mark: str) -> list[str]:
        """Recreate every Secret without the mark; returns their names."""
        ca = entries(self._authority())
        signer = pki.Issued(ca["tls.crt"], ca["tls.key"])
        renewed = []
        for name, data in internal_secrets.recreated(signer, self.settings.namespace).items():
            if _marked(self.cluster.get("v1", "Secret", name, self.settings.namespace), mark):
                continue
            outcome = apply_objects(
                self.cluster, [secret(self.settings.federation, self.settings.namespace, name, data, application="superlink", annotations={MARK: mark})]
            )
            certificates = [issued_facts(name, data["tls.crt"])] if "tls.crt" in data else []
            self.hub.note(objects=of_objects(outcome.objects), certificates=certificates)
            renewed.append(name)
        return renewed

    def restart(self, seconds: float) -> list[str]:
        """Restart the hub's pods that run with outdated secrets; returns their names when they are ready."""
        place = self.settings.namespace, self.settings.federation
        old = pods_with_old_secrets(self.cluster, *place)
        # All at once: one side alone would only meet the other's old secret.
        return outdated_pods.replace_pods(self.cluster, *place, old, seconds, self.hub.note)


def pods_with_old_secrets(cluster: Cluster, namespace: str, federation: str, *, younger: bool = False) -> list[dict[str, Any]]:
    """The pods of a federation's hub that run with older secrets than there are.

    C(younger): look only into pods that are older than one of their Secrets. Both times are the API server's.
    """
    secrets: dict[str, dict[str, Any] | None] = {}
    found = []
    for label, container, files in _PODS:
        for pod in cluster.list("v1", "Pod", namespace, labels=proof.pods_query(federation, label)):
            present = {path: place for path, place in files.items() if outdated_pods.mounts(pod, container, path)}
            for name, _entry in present.values():
                if name not in secrets:
                    secrets[name] = cluster.get("v1", "Secret", name, namespace)
            if younger and not any(is_newer(secrets[name], pod) for name, _entry in present.values()):
                continue
            wanted = {path: site_proof.file_digest(entries(secrets[name])[entry]) for path, (name, entry) in present.items()}
            if outdated_pods.is_outdated(cluster, pod, container, wanted):
                found.append(pod)
    return found


def is_newer(secret: Mapping[str, Any] | None, pod: Mapping[str, Any]) -> bool:
    """Whether a Secret was written after a pod was created."""
    return written_at(secret) > str(pod["metadata"]["creationTimestamp"])


def restart_pods_with_old_secrets(cluster: Cluster, namespace: str, federation: str, note: Callable[..., None]) -> list[str]:
    """Restart the hub's pods whose secrets were recreated; returns their names, without waiting for their successors."""
    return outdated_pods.delete_pods(cluster, namespace, pods_with_old_secrets(cluster, namespace, federation, younger=True), note)


def renew_site(cluster: Cluster, federation: str, namespace: str, mark: str, renewed: Mapping[str, Mapping[str, str]]) -> list[dict[str, str]]:
    """Recreate a site's shared secrets (name -> new entries) without the mark (C(Internal.begin)); returns their audit facts."""
    written = []
    for name, data in renewed.items():
        live = cluster.get("v1", "Secret", name, namespace)
        if live is None or _marked(live, mark):
            continue
        wanted = secret(federation, namespace, name, data, application="supernode", annotations={MARK: mark})
        written += of_objects(apply_objects(cluster, [wanted]).objects)
    return written


def _marked(live: Mapping[str, Any] | None, mark: str) -> bool:
    return live is not None and (live["metadata"].get("annotations") or {}).get(MARK) == mark
