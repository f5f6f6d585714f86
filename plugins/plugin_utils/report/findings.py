# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report finds: problems, and warnings of what may become one; each with its remedy. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..base.object_names import TUNNEL, TUNNEL_PROGRAM

Keys = Iterable[Mapping[str, Any]]

SITE = "ansible-playbook -i INVENTORY federated.flower.site"

HUB_AWAY = (
    "Check flower_kubeconfig, flower_context and the way to its API server. Sites and runs do not need this connection: they may be well."
)
# What an API server says that answers, and does not let the control node read (Kubernetes, 403).
_REFUSAL = " is forbidden: "
REFUSED = "Its API server answers, and the control node lacks the right that the message names: federated.flower.rbac writes all rights that it needs"
HUB_BARE = f"Deploy it: {SITE}"
HUB_PODS = f"Correct what the message names, then run {SITE} --limit flower_hub"
HUB_CERTIFICATE = f"{SITE} issues another one, or says what to correct"
CA_ENDS = (
    "ansible-playbook -i INVENTORY federated.flower.rotate_certs replaces the federation's own CA. For another one, the guide on certificates has the "
    "steps: Changing the CA"
)
NAMELESS = "The logs of the SuperNodes say whether they are connected. With flower_insecure: false each has a key"
OUTPUTS_UNKNOWN = "If the SuperLink's pod is not ready, that is the cause; otherwise look at its log."
HUB_SILENT = f"Do what the message says. {OUTPUTS_UNKNOWN}"
OUTPUTS_FULL = "Delete outputs (federated.flower.outputs -e flower_outputs=prune), or set superlink_outputs_size to more"
NETWORK = f"{SITE} repairs links and listeners and renews their certificates. What then remains is in the guide on Skupper."
DENIED_ONLINE = (
    "It recognizes a site by its client certificate: set superlink_client_certificates to required (flower_mtls to true), then run "
    f"{SITE} --limit flower_hub"
)
NODE_UNKNOWN = "`flwr supernode unregister` in the SuperLink's pod removes it if it is not used"
RUN_STUCK = "The ServerApp takes no runs: its log says why (pod serverapp-0, container superexec), and whether its pod is ready is shown above"
LEDGER = f"Run {SITE}: it says how the record is made again"
RECORD_LOST = f"{SITE} makes new keys for them, and keeps their partitions. Unregister only what this report then still does not know"
LEASE_LEFT = f"It was killed, or lost its connection: what it had begun may be half done. The lease is free. Run {SITE} to complete it."
_PULL = ("ErrImage", "ImagePull", "InvalidImageName", "RegistryUnavailable")

PROBLEM, WARNING = "problem", "warning"


def used_keys(keys: Keys) -> set[tuple[str, str]]:
    """Those that a site has. Keys that leave, or that Flower never accepts again, are those of none."""
    return {(key["pool"], key["name"]) for key in keys if key["node_id"] and not key.get("leaving") and not key.get("dead")}


def serving_keys(keys: Keys, nodes: Mapping[str, Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Those that are online at the SuperLink, also with a key that leaves."""
    return {(key["pool"], key["name"]) for key in keys if nodes.get(key["node_id"], {}).get("status") == "online"}


def hub_away(error: str) -> str:
    """For a hub whose cluster cannot be read."""
    return REFUSED if _REFUSAL in error else HUB_AWAY


def site_away(site: str, error: str) -> str:
    """For a site whose cluster cannot be read."""
    return REFUSED if _REFUSAL in error else (
        f"Check flower_kubeconfig and flower_context of {site}, and the way to its API server. If its cluster no longer exists, take it out of the inventory "
        f"and run {SITE} -e flower_forget_sites={site}"
    )


def managed_away(site: str) -> str:
    """For a site behind Open Cluster Management that does not report to its hub, or is none of its clusters."""
    return (
        f"Do what the message says. If it has stopped to report, look at the klusterlet in the cluster of {site}, and at its way to the hub. SuperNodes do not "
        f"need it: they may be well. If the cluster no longer exists, take {site} out of the inventory and run {SITE} -e flower_forget_sites={site}"
    )


def site_bare(site: str) -> str:
    """For a site without SuperNodes."""
    return f"Deploy them: {SITE} --limit {site}"


def bundle_waits(step: str) -> str:
    """For a site that gives no access and has not answered its bundle."""
    return f"{step[:1].upper()}{step[1:]}"


def site_pods(site: str, trouble: str) -> str:
    """For pods that are not ready."""
    if any(word in trouble for word in _PULL):
        return f"Correct the image's name or the credentials of its registry in the variables of {site}, then run {SITE} --limit {site}"
    if f"{TUNNEL} runs but is not ready" in trouble:
        asked = f"kubectl exec NAME_OF_THE_POD -c {TUNNEL} -- sh {TUNNEL_PROGRAM} check"
        return f"The HTTP proxy of {site} is in the way. What it says: {asked}. Correct supernode_http_proxy, or the proxy"
    return f"Correct what the message names, in the variables of {site} or in its cluster, then run {SITE} --limit {site}"


def site_denied(site: str) -> str:
    """For a site that the hub denies."""
    return f"If the reason no longer exists: ansible-playbook -i INVENTORY federated.flower.site_access -e flower_site={site} -e flower_access=admitted"


def nodes_offline(site: str, *, is_reached: bool = True) -> str:
    """For SuperNodes that are not online. C(is_reached): whether their pods can be asked and restarted from the control node."""
    if not is_reached:
        return (
            f"Its pods can neither be asked nor restarted from here. People with access to the cluster of {site} can look at them, and at the logs of their "
            "containers supernode and sidecar. If a pod is ready, they can delete it: its successor connects again."
        )
    return (
        "If their pods are ready, ansible-playbook -i INVENTORY federated.flower.reconcile -e flower_reconcile=heal restarts those that hang. "
        f"ansible-playbook -i INVENTORY federated.flower.verify --limit {site} shows where the way to the hub ends."
    )


def scaled(site: str) -> str:
    """For a pool whose workload has fewer replicas than the ledger has SuperNodes."""
    return f"It was scaled by hand: ask who did it. {SITE} --limit {site} deploys all of them again, or unregisters what the inventory no longer has."


def nodes_left(site: str) -> str:
    """For a pool with a SuperNode on each node, of which some are gone."""
    return f"If these nodes do not come back, {SITE} --limit {site} unregisters their SuperNodes."


def forgotten(site: str) -> str:
    """For a site that has left the inventory alone."""
    return f"-e flower_forget_sites={site} unregisters its SuperNodes and frees its partitions"


def renew(cluster: str, hub: bool) -> str:
    """For a certificate that ends."""
    return f"{SITE}{'' if hub else f' --limit {cluster}'} renews it. Schedule that playbook: it renews what has passed half of its lifetime."


def skew(site: str) -> str:
    """For a pool of another release than the hub's."""
    return f"ansible-playbook -i INVENTORY federated.flower.upgrade brings all sites to the hub's release; {SITE} --limit {site} brings this one."


def run_failed(run: str) -> str:
    """For a run that failed."""
    return f"Its log says why: ansible-playbook -i INVENTORY federated.flower.runs -e flower_runs=logs -e flower_run_id={run}"


class Finding(NamedTuple):
    """One of them.

    Attributes:
        level: C(PROBLEM) or C(WARNING).
        cluster: inventory name of the hub or of the site that it is about; empty for the whole federation.
        text: a sentence, which may contain what clusters and apps say.
        remedy: what to do, a sentence.
    """

    level: str
    cluster: str
    text: str
    remedy: str

    def facts(self) -> dict[str, str]:
        """It as a dict."""
        return self._asdict()


class Findings:
    """Findings in the order in which they were made.

    Args:
        hub: inventory name of the hub.
    """

    def __init__(self, hub: str) -> None:
        self.hub = hub
        self.found: list[Finding] = []
        self.problems: list[str] = []
        self.warnings: list[str] = []

    def problem(self, cluster: str, text: str, remedy: str, with_remedy: bool = False) -> None:
        """Add one that makes the federation unhealthy.

        Args:
            cluster: what it is about.
            text: the sentence.
            remedy: what to do.
            with_remedy: whether the sentence of C(problems) has the remedy, too.
        """
        self.found.append(Finding(PROBLEM, cluster, text, remedy))
        self.problems.append(f"{text}; {remedy}" if with_remedy else text)

    def warning(self, cluster: str, text: str, remedy: str) -> None:
        """Add one that does not."""
        self.found.append(Finding(WARNING, cluster, text, remedy))
        self.warnings.append(f"{text}. {remedy}")

    def facts(self) -> list[dict[str, str]]:
        """All of them, problems first."""
        return [one.facts() for level in (PROBLEM, WARNING) for one in self.found if one.level == level]
