# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wrong with a fleet, and what to do about it: problems, which make it unhealthy, and warnings. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..base import formats
from ..base.formats import counted, readable
from ..base.object_names import TUNNEL, TUNNEL_PROGRAM
from ..spec.site_spec import DAEMON_SET, STATEFUL_SET

PROBLEM, WARNING = "problem", "warning"
SITE = "ansible-playbook -i INVENTORY federated.flower.site"

# What an API server says that answers, and does not let the control node read (Kubernetes, 403).
_REFUSAL = " is forbidden: "
_REFUSED = "The API server answers, but the identity of the control node lacks the right in the message. federated.flower.rbac generates all required rights"
_OUTPUTS_UNKNOWN = "If the SuperLink's pod is not ready, that is the cause; otherwise check its log."
_PULL = ("ErrImage", "ImagePull", "InvalidImageName", "RegistryUnavailable")
# The gateway loads its files within two minutes, and Flower counts a SuperNode as online for a minute after its last heartbeat.
_DENIED = datetime.timedelta(minutes=3)
# For how long a run may wait for its ServerApp; the alert FlowerRunWaits has the same limit.
_WAITS = datetime.timedelta(minutes=15)

Keys = Iterable[Mapping[str, Any]]


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


class Findings:
    """Findings in the order in which they were made.

    Attributes:
        problems: sentences.
        warnings: sentences with their remedies.
    """

    def __init__(self) -> None:
        self.found: list[Finding] = []
        self.problems: list[str] = []
        self.warnings: list[str] = []

    def problem(self, cluster: str, text: str, remedy: str, with_remedy: bool = False) -> None:
        """Add one that makes the federation unhealthy.

        Args:
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
        return [one._asdict() for level in (PROBLEM, WARNING) for one in self.found if one.level == level]


def used_keys(keys: Keys) -> set[tuple[str, str]]:
    """Those that a site has. Keys that leave, or that Flower never accepts again, are those of none."""
    return {(key["pool"], key["name"]) for key in keys if key["node_id"] and not key.get("leaving") and not key.get("dead")}


def serving_keys(keys: Keys, nodes: Mapping[str, Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Those that are online at the SuperLink, also with a key that leaves."""
    return {(key["pool"], key["name"]) for key in keys if nodes.get(key["node_id"], {}).get("status") == "online"}


def has_answered(hub: Mapping[str, Any]) -> bool:
    """Whether the SuperLink has listed its SuperNodes; otherwise nothing is known of any of them. What fails after that changes nothing."""
    return bool(hub["reachable"] and hub["deployed"] and (hub["nodes"] or not hub["error"]))


def ends_soon(certificate: Mapping[str, Any], now: datetime.datetime) -> bool:
    """Whether a certificate that should have been renewed, at half of its lifetime, has only a tenth of it left. What has ended is not meant."""
    start, end = formats.moment(certificate.get("not_before") or ""), formats.moment(certificate.get("not_after") or "")
    return bool(start and end and start < end and now < end and end - now < (end - start) / 10)


def add_hub(name: str, hub: Mapping[str, Any], found: Findings, now: datetime.datetime) -> None:
    """Findings about the hub: its cluster and SuperLink, certificates, outputs, and a lease that was not returned."""
    if not hub["reachable"]:
        remedy = "Check flower_kubeconfig, flower_context and the route to its API server. Sites and runs do not need this connection and may still work."
        found.problem(name, f"hub {name}: {hub['error'] or 'not reachable'}", _REFUSED if _REFUSAL in hub["error"] else remedy)
    elif hub["error"]:
        found.problem(name, f"hub {name}: {hub['error']}", f"Follow the message. {_OUTPUTS_UNKNOWN}")
    elif not hub["deployed"]:
        found.problem(name, f"hub {name}: no SuperLink is deployed", f"Deploy it: {SITE}")
    if hub["trouble"]:
        found.problem(name, f"hub {name}: {hub['trouble']}", f"Correct the fault in the message, then run {SITE} --limit flower_hub")
    certificate = hub["certificate"]
    if certificate.get("fault"):
        found.problem(
            name,
            f"hub {name}: sites refuse the gateway's certificate: {certificate['fault']}; federated.flower.site resolves it, or reports the remedy",
            f"{SITE} issues another one, or reports the remedy",
        )
    elif ends_soon(certificate, now):
        found.warning(name, f"hub {name}: the gateway's certificate ends on {certificate['not_after'][:16]}", _renew(""))
    ca = certificate.get("ca") or {}
    if ends_soon(ca, now):
        found.warning(
            name,
            f"hub {name}: the CA of the gateway's certificate, {ca['subject']}, ends on {ca['not_after'][:16]}: no site can connect after that",
            "ansible-playbook -i INVENTORY federated.flower.rotate_certs replaces the federation's own CA. For a CA of your own, see the guide "
            "on certificates: Changing the CA",
        )
    outputs = hub.get("outputs") or {}
    if outputs.get("error"):
        found.problem(name, f"hub {name}: the free space for outputs of runs is unknown: {outputs['error']}", _OUTPUTS_UNKNOWN)
    elif outputs and outputs["free"] < outputs["min_free"]:
        remedy = "Delete outputs (federated.flower.outputs -e flower_outputs=prune), or set superlink_outputs_size to more"
        text = (
            f"hub {name}: the volume for outputs of runs has {readable(outputs['free'])} left, less than superlink_outputs_min_free "
            f"({readable(outputs['min_free'])}), so no run is submitted. {remedy}"
        )
        found.problem(name, text, remedy)
    again = "Upload them, or read why it fails: federated.flower.outputs -e flower_outputs=upload"
    if outputs.get("bucket_error"):
        found.warning(name, f"hub {name}: cannot determine whether outputs of runs are in object storage: {outputs['bucket_error']}", again)
    elif waiting := outputs.get("not_uploaded"):
        found.warning(name, f"hub {name}: the outputs of {counted(len(waiting), 'finished run')} are not in {outputs['bucket']}", again)
    if stale := (hub.get("lease") or {}).get("ended"):
        remedy = f"It was killed or lost its connection, and its changes may be incomplete. The lease is free. Run {SITE} to complete it."
        found.warning(name, f"hub {name}: {stale} did not return the lease of the fleet, which has ended", remedy)


def add_nameless(name: str, hub: Mapping[str, Any], sites: Sequence[Mapping[str, Any]], found: Findings) -> None:
    """Findings about SuperNodes without keys, which are known by their number alone."""
    online = sum(node["status"] == "online" for node in hub["nodes"].values())
    wanted = sum(pool["desired"] or 0 for site in sites for pool in site["pools"])
    text = f"hub {name}: {online} SuperNodes are online; without node authentication (flower_insecure) their sites are unknown"
    remedy = "The logs of the SuperNodes show whether they are connected. With flower_insecure: false each has a key"
    if online < wanted:
        found.problem(name, f"{text}, and these sites have {wanted}", remedy)
    else:
        found.warning(name, text, remedy)


def add_runs(runs: Sequence[Mapping[str, Any]], found: Findings, now: datetime.datetime) -> None:
    """Findings about runs: the oldest one that waits for a ServerApp although none is busy, and the one that ended last, if it failed."""

    def named(run: Mapping[str, Any]) -> str:
        return f"run {run['run-id']} of {run['fab-id']}" if run.get("fab-id") else f"run {run['run-id']}"

    active = [run for run in runs if not str(run.get("status", "")).startswith("finished")]
    waiting = [run for run in active if (since := formats.moment(run.get("pending-at"))) and now - since > _WAITS]
    if waiting and all(run["status"] in ("pending", "starting") for run in active):
        run = min(waiting, key=lambda run: str(run["pending-at"]))
        remedy = "The ServerApp accepts no runs. Check the log of pod serverapp-0, container superexec; whether the pod is ready is shown above"
        found.warning("", f"{named(run)} has been {run['status']} since {str(run['pending-at'])[:16]}, and no other run is active", remedy)
    ended = [run for run in runs if str(run.get("status", "")).startswith("finished")]
    last = max(ended, key=lambda run: str(run.get("finished-at") or ""), default=None)
    if last is not None and last["status"] == "finished:failed":
        details = " ".join(str(last.get("status-details") or "").split())
        remedy = f"Check its log: ansible-playbook -i INVENTORY federated.flower.runs -e flower_runs=logs -e flower_run_id={last['run-id']}"
        found.warning("", f"{named(last)} failed{f': {details}' if details and details != 'N/A' else ''}", remedy)


def add_schedules(schedules: Sequence[Mapping[str, Any]], found: Findings) -> None:
    """Findings about trainings on a calendar whose last run did not complete. One that was skipped is as its settings say."""
    for one in schedules:
        status = one["last"].get("status", "")
        if status not in ("", "completed", "skipped", "running", "pending"):
            remedy = "The line of the schedule shows the cause. Start a run manually (federated.flower.run), or wait for its next time"
            found.warning("", f"schedule {one['name']}: its last run is {status}", remedy)


def add_site(
    name: str, site: Mapping[str, Any], shown: Mapping[str, Any], record: Mapping[str, Any], hub: Mapping[str, Any], found: Findings, now: datetime.datetime
) -> None:
    """Findings about a site. C(site): result of M(federated.flower.supernode_info); C(shown): its entry in the report; C(record): that of the ledger."""
    access, pools, asked, bundle = shown["access"], shown["pools"], shown["asked"], site.get("bundle")
    if shown["maintenance"]:
        remedy = "No run is submitted until then. federated.flower.reconcile -e flower_reconcile=heal denies the site until then, and admits it again."
        found.warning(name, f"{name}: maintenance until {shown['maintenance']}", remedy)
        return
    live = {item["pool"] for item in site["workloads"]}
    if record.get("fault"):
        found.problem(name, f"{name}: {record['fault']}", f"Run {SITE}: it reports how to recreate the record")
    if has_answered(hub) and live and name not in hub["sites"]:
        text = f"{name}: its SuperNodes are deployed, and the ledger has no record of them, so their registrations at the SuperLink cannot be identified"
        remedy = f"{SITE} creates new keys for them and keeps their partitions. Afterwards, unregister only the nodes that this report still lists as unknown"
        found.problem(name, text, remedy)
    deploy = f"Deploy them: {SITE} --limit {name}"
    if not site["reachable"]:
        found.problem(name, site["error"], _site_away(name, site))
    elif bundle and not bundle["version"]:
        found.problem(name, f"{name}: no bundle was written for it", deploy)
    elif bundle and bundle["waits"]:
        words = f"it has answered version {bundle['answered']}" if bundle["answered"] else "it has not answered yet"
        found.warning(name, f"{name}: bundle version {bundle['version']} waits for its reply; {words}", f"{bundle['next'][:1].upper()}{bundle['next'][1:]}")
    elif not bundle and (not pools or not (access or (site.get("ocm") and site["trouble"]))):  # these two say why something is not deployed
        if not live:
            found.problem(name, f"{name}: no SuperNodes are deployed", deploy)
        # Keys of a pool that is removed are leaving.
        for pool in dict.fromkeys(key["pool"] for key in record["keys"] if live and not key.get("leaving")):
            if pool not in live:
                found.problem(name, f"{name}: pool {pool} is not deployed", deploy)
    if site["trouble"]:
        found.problem(name, f"{name}: {site['trouble']}", _site_pods(name, site["trouble"]))
    if access:
        admit = f"ansible-playbook -i INVENTORY federated.flower.site_access -e flower_site={name} -e flower_access=admitted"
        found.problem(name, f"{name} has been denied since {access['since']} ({access['reason'] or 'no reason given'})", f"When the reason is gone: {admit}")
        since = formats.moment(access["since"])
        if sum(pool["online"] or 0 for pool in pools) and (since is None or now - since > _DENIED):
            remedy = (
                "It recognizes a site by its client certificate: set superlink_client_certificates to required (flower_mtls to true), then run "
                f"{SITE} --limit flower_hub"
            )
            found.problem(name, f"{name} is denied, and SuperNodes of it are online: the gateway does not refuse them", remedy)
    for one in shown["clientapps"] if not site.get("ocm") else ():
        if one["ready"] < one["desired"]:
            found.problem(name, f"{name}: {one['ready']} of {one['desired']} ClientApps of pool {one['pool']} are ready", _site_pods(name, ""))
    for pool in pools if not access else ():
        few = (pool["kind"] or "") if pool["desired"] is not None and pool["desired"] < pool["keys"] else ""
        # A pool that is not deployed is a problem of its own.
        if asked and pool["online"] < pool["wanted"] and (pool["desired"] is not None or bundle or not site["reachable"]):
            text = f"{name}: {pool['online']} of {pool['wanted']} SuperNodes of pool {pool['name']} are online"
            if few == STATEFUL_SET:
                again = f"{SITE} --limit {name} deploys all of them again, or unregisters what the inventory no longer has."
                remedy = f"It was scaled manually: find out who did it. {again}"
                found.problem(name, f"{text}, and its StatefulSet has {pool['desired']} replicas", remedy)
            else:
                found.problem(name, text, _nodes_offline(name, is_reached=not (bundle or site.get("ocm"))))
        if few == DAEMON_SET:
            text = f"{name}: pool {pool['name']} has {pool['keys']} SuperNodes in the ledger, and its cluster has nodes for {pool['desired']}"
            found.warning(name, text, f"If these nodes do not come back, {SITE} --limit {name} unregisters their SuperNodes.")
        if pool["version"] and hub["version"] and pool["version"] != hub["version"] and not hub.get("upgrade"):
            text = f"{name}: pool {pool['name']} runs Flower {pool['version']}, the hub {hub['version']}"
            remedy = f"ansible-playbook -i INVENTORY federated.flower.upgrade upgrades all sites to the hub's release; {SITE} --limit {name} upgrades this one."
            found.warning(name, text, remedy)
    client = shown["certificate"]
    end = formats.moment(client.get("not_after") or "")
    if not access and end is not None and end <= now:
        is_away = any(asked and pool["online"] < pool["wanted"] for pool in pools)  # then this may be why
        text = f"{name}: its client certificate ended on {client['not_after'][:16]}: a gateway that requires one refuses it at its next connection"
        (found.problem if is_away else found.warning)(name, text, _renew(f" --limit {name}"))
    elif not access and ends_soon(client, now):
        found.warning(name, f"{name}: its client certificate ends on {client['not_after'][:16]}", _renew(f" --limit {name}"))


def _site_away(name: str, site: Mapping[str, Any]) -> str:
    """For a site whose cluster cannot be read."""
    forget = f"{SITE} -e flower_forget_sites={name}"
    if site.get("ocm"):
        return (
            f"Follow the message. If it no longer reports, check the klusterlet in the cluster of {name} and its connection to the hub. SuperNodes do "
            f"not need it and may still work. If the cluster no longer exists, remove {name} from the inventory and run {forget}"
        )
    if _REFUSAL in site["error"]:
        return _REFUSED
    return (
        f"Check flower_kubeconfig and flower_context of {name}, and the route to its API server. If its cluster no longer exists, remove it from the "
        f"inventory and run {forget}"
    )


def _site_pods(site: str, trouble: str) -> str:
    """For pods that are not ready."""
    if any(word in trouble for word in _PULL):
        return f"Correct the image's name or the credentials of its registry in the variables of {site}, then run {SITE} --limit {site}"
    if f"{TUNNEL} runs but is not ready" in trouble:
        asked = f"kubectl exec NAME_OF_THE_POD -c {TUNNEL} -- sh {TUNNEL_PROGRAM} check"
        return f"The HTTP proxy of {site} blocks the connection to the hub. Its answer: {asked}. Correct supernode_http_proxy, or the proxy"
    return f"Correct the fault in the message, in the variables of {site} or in its cluster, then run {SITE} --limit {site}"


def _nodes_offline(site: str, *, is_reached: bool) -> str:
    """For SuperNodes that are not online. C(is_reached): whether their pods can be asked and restarted from the control node."""
    if not is_reached:
        return (
            f"Its pods cannot be read or restarted from the control node. An administrator of the cluster of {site} can check them and the logs of their "
            "containers supernode and sidecar, and can delete a pod that is ready: its successor connects again."
        )
    return (
        "If their pods are ready, ansible-playbook -i INVENTORY federated.flower.reconcile -e flower_reconcile=heal restarts those that hang. "
        f"ansible-playbook -i INVENTORY federated.flower.verify --limit {site} shows where the connection to the hub fails."
    )


def _renew(limit: str) -> str:
    return f"{SITE}{limit} renews it. Schedule that playbook: it renews what has passed half of its lifetime."
