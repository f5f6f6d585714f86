# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.apply.readiness import state
from ansible_collections.federated.flower.plugins.plugin_utils.kube.pod_health import pod_faults
from ansible_collections.federated.flower.tests.unit.rows import each_row


def obj(api_version: str, kind: str, spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "x", "namespace": "n", "generation": 2},
        "spec": spec or {},
        "status": status,
    }


def condition(kind: str, status: str, **more: str) -> list[dict[str, str]]:
    return [{"type": kind, "status": status, **more}]


def routed(*said: tuple[str, str, str], host: str = "a.example.com") -> dict[str, Any]:
    """A Route with what routers say of it: host, status of Admitted, message."""
    route = obj("route.openshift.io/v1", "Route", {"host": host})
    route["status"] = {
        "ingress": [
            {"host": where, "routerName": "default", "conditions": condition("Admitted", status, reason="HostAlreadyClaimed", message=text)}
            for where, status, text in said
        ]
    }
    return route


def attached(*reports: dict[str, str], gateway: str = "public", seen: int = 2, **spec: Any) -> dict[str, Any]:
    """A TLSRoute with what controllers say of it: condition -> status, for each of them."""
    route = obj("gateway.networking.k8s.io/v1", "TLSRoute", {"parentRefs": [{"name": "public", "namespace": "infra", "sectionName": "tls"}]})
    route["status"] = {
        "parents": [
            {
                "parentRef": {"name": gateway, "namespace": "infra", "sectionName": "tls"},
                "conditions": [{"type": kind, "status": status, "observedGeneration": seen, "reason": "Because"} for kind, status in report.items()],
            }
            for report in reports
        ]
    }
    return route


def proxied(status: str, seen: int = 2, **more: Any) -> dict[str, Any]:
    one = {"type": "Valid", "status": status, "observedGeneration": seen, **more}
    return obj("projectcontour.io/v1", "HTTPProxy", {}, conditions=[one])


NOT_TAKEN = "Gateway infra/public has not accepted it: "
TAKEN = {"Accepted": "True", "ResolvedRefs": "True"}
SEEN = {"observedGeneration": 2}
STUCK = condition("Progressing", "False", reason="ProgressDeadlineExceeded", message="no progress")


def deployment(wanted: int, **status: Any) -> dict[str, Any]:
    return obj("apps/v1", "Deployment", {"replicas": wanted}, **SEEN, **status)


def daemon_set(desired: int, updated: int = 0, available: int = 0, **spec: Any) -> dict[str, Any]:
    status = {"desiredNumberScheduled": desired, "updatedNumberScheduled": updated, "numberAvailable": available}
    return obj("apps/v1", "DaemonSet", spec, **SEEN, **status)


def site(conditions: list[dict[str, str]]) -> dict[str, Any]:
    return obj("skupper.io/v2alpha1", "Site", conditions=conditions)


@each_row(
    ("given", "why"),
    [
        (obj("apps/v1", "Deployment", {}, observedGeneration=1), "its controller has not observed generation 2 yet"),
        (deployment(2, updatedReplicas=1), "1 of 2 replicas are updated"),
        (deployment(1, updatedReplicas=1, replicas=2), "1 old replicas have not terminated yet"),
        (deployment(1, updatedReplicas=1, replicas=1), "0 of 1 replicas are available"),
        (deployment(1, updatedReplicas=1, replicas=1, availableReplicas=1), ""),
        (deployment(0), ""),
        (deployment(1, conditions=STUCK), "the rollout is stuck: ProgressDeadlineExceeded: no progress"),
        (daemon_set(2, updated=1), "1 of 2 pods are updated"),
        (daemon_set(2, updated=2, available=1), "1 of 2 pods are available"),
        (daemon_set(0), ""),
        (daemon_set(1, available=1, updateStrategy={"type": "OnDelete"}), ""),
        (obj("v1", "PersistentVolumeClaim", phase="Bound"), ""),
        (obj("v1", "PersistentVolumeClaim", phase="Pending"), "it is Pending, not Bound"),
        (obj("v1", "PersistentVolumeClaim", phase="Lost"), "its volume is lost"),
        (obj("batch/v1", "Job", conditions=condition("Complete", "True")), ""),
        (obj("batch/v1", "Job", {"suspend": True}), ""),
        (obj("batch/v1", "Job", {"completions": 3}, succeeded=1), "1 of 3 completions"),
        (
            obj("batch/v1", "Job", conditions=condition("Failed", "True", reason="BackoffLimitExceeded")),
            "the job has failed: BackoffLimitExceeded",
        ),
        (obj("v1", "Service", {"type": "ClusterIP"}), ""),
        (
            obj("v1", "Service", {"type": "LoadBalancer"}, loadBalancer={}),
            "the load balancer has no address. A cloud, or a controller in the cluster such as MetalLB, must assign one; without either, use "
            "another type of Service (for a hub, superlink_exposure: node_port)",
        ),
        (obj("v1", "Service", {"type": "LoadBalancer"}, loadBalancer={"ingress": [{"ip": "1.2.3.4"}]}), ""),
        (obj("v1", "Namespace", phase="Active"), ""),
        (obj("v1", "Namespace", phase="Terminating"), "it is Terminating"),
        (obj("v1", "Pod", phase="Succeeded"), ""),
        (obj("v1", "Pod", phase="Running", conditions=condition("Ready", "False")), "it is Running, not Ready"),
        (obj("v1", "Pod", phase="Running", conditions=condition("Ready", "True")), ""),
        (obj("apiextensions.k8s.io/v1", "CustomResourceDefinition"), "it is not Established"),
        (obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", conditions=condition("Established", "True")), ""),
        (obj("skupper.io/v2alpha1", "Site"), ""),
        (site(condition("Ready", "False", reason="Pending", message="no router")), "it is not Ready (Pending: no router)"),
        (site(condition("Ready", "True")), ""),
        (
            obj("example.com/v1", "X", conditions=condition("Available", "Unknown")),
            "it is not Available (no reason reported)",
        ),
        (obj("example.com/v1", "X", conditions=condition("Stalled", "True", reason="No")), "it is stalled: No"),
        (obj("v1", "ConfigMap"), ""),
        (routed(), "no router has admitted host a.example.com"),
        (routed(host=""), "no router has admitted host (none yet)"),
        (routed(("a.example.com", "True", "")), ""),
        (routed(("a.example.com", "False", "x"), ("a.example.com", "True", "")), ""),
        (
            routed(("a.example.com", "False", "route b already exposes it")),
            "router default refuses host a.example.com: HostAlreadyClaimed: route b already exposes it",
        ),
        (attached(TAKEN), ""),
        (attached({"Accepted": "False", "ResolvedRefs": "True"}, TAKEN), ""),
        (attached(), f"{NOT_TAKEN}no controller has reported a status. Check that the controller of its class is running"),
        (attached(TAKEN, gateway="other"), f"{NOT_TAKEN}no controller has reported a status. Check that the controller of its class is running"),
        (attached({"Accepted": "False", "ResolvedRefs": "True"}), f"{NOT_TAKEN}Accepted is False (Because)"),
        (
            attached({"Accepted": "True", "ResolvedRefs": "True"}, seen=1),
            f"{NOT_TAKEN}its controller has not reported Accepted of generation 2 yet; its controller has not reported ResolvedRefs of generation 2 yet",
        ),
        (attached({"Accepted": "True"}), f"{NOT_TAKEN}its controller has not reported ResolvedRefs of generation 2 yet"),
        (proxied("True"), ""),
        (proxied("True", seen=1), "its controller has not reported Valid of generation 2 yet"),
        (
            proxied("False", reason="ErrorPresent", errors=[{"reason": "DuplicateVhost", "message": "fqdn is used"}]),
            "Valid is False (ErrorPresent); DuplicateVhost: fqdn is used",
        ),
        # What a router said of a host that the Route had before.
        (routed(("old.example.com", "True", "")), "no router has admitted host a.example.com"),
    ],
)
def test_state(given: dict[str, Any], why: str) -> None:
    assert state(given).why == why
    assert state(given).ready is (why == "")


REVISIONS = {"currentRevision": "a", "updateRevision": "b"}


def kept_back(partition: int, **spec: Any) -> dict[str, Any]:
    return {"replicas": 4, "updateStrategy": {"rollingUpdate": {"partition": partition}}, **spec}


@each_row(
    ("spec", "status", "why"),
    [
        ({"replicas": 2}, {"readyReplicas": 1}, "1 of 2 replicas are ready"),
        ({"replicas": 1}, {"readyReplicas": 1, "replicas": 2}, "1 surplus replicas have not terminated yet"),
        ({"replicas": 2}, {"readyReplicas": 2, "updatedReplicas": 1, **REVISIONS}, "1 of 2 replicas are updated"),
        ({"replicas": 2}, {"readyReplicas": 2, "updatedReplicas": 2, **REVISIONS}, "revision b is not current yet"),
        ({"replicas": 2}, {"readyReplicas": 2, "updatedReplicas": 2, **REVISIONS, "currentRevision": "b"}, ""),
        ({"replicas": 0}, {"currentRevision": "b", "updateRevision": "b"}, ""),
        ({"replicas": 1, "updateStrategy": {"type": "OnDelete"}}, {"readyReplicas": 1, **REVISIONS}, ""),
        (kept_back(3), {"readyReplicas": 4, "updatedReplicas": 0, **REVISIONS}, "0 of 1 replicas are updated"),
        (kept_back(3), {"readyReplicas": 4, "updatedReplicas": 1, **REVISIONS}, ""),
        (kept_back(12, ordinals={"start": 10}), {"readyReplicas": 4, "updatedReplicas": 1, **REVISIONS}, "1 of 2 replicas are updated"),
    ],
)
def test_stateful_set(spec: dict[str, Any], status: dict[str, Any], why: str) -> None:
    assert state(obj("apps/v1", "StatefulSet", spec, observedGeneration=2, **status)).why == why


def test_claim_that_binds_on_first_use() -> None:
    claim = obj("v1", "PersistentVolumeClaim", phase="Pending")
    assert state(claim, first_consumer=True).ready
    claim["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": "node"}
    assert not state(claim, first_consumer=True).ready


def test_what_is_going_is_not_ready() -> None:
    given = obj("v1", "ConfigMap")
    given["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert not state(given).ready


def test_what_fails_for_good() -> None:
    assert state(obj("batch/v1", "Job", conditions=condition("Failed", "True"))).failed
    assert state(obj("apps/v1", "Deployment", {}, **SEEN, conditions=STUCK)).failed
    assert not state(obj("v1", "PersistentVolumeClaim", phase="Pending")).failed
    assert state(routed(("a.example.com", "False", "x"))).failed
    assert not state(routed(("a.example.com", "False", "x"), ("a.example.com", "Unknown", ""))).failed


def test_pod_faults() -> None:
    ended = {"exitCode": 2, "reason": "Error", "message": "no such\nflag"}
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off 10s"}
    pod = {
        "status": {
            "conditions": condition("PodScheduled", "False", reason="Unschedulable", message="0/1 nodes"),
            "initContainerStatuses": [{"name": "i", "ready": False, "state": {"terminated": {"exitCode": 0}}}],
            "containerStatuses": [
                {"name": "a", "ready": False, "state": {"waiting": waiting}, "lastState": {"terminated": ended}},
                {"name": "b", "ready": False, "state": {"running": {}}},
                {"name": "c", "ready": True, "state": {"running": {}}},
                {"name": "d", "ready": False, "state": {"waiting": {"reason": "PodInitializing"}}},
            ],
        }
    }
    assert pod_faults(pod) == [
        "Unschedulable: 0/1 nodes",
        "container a CrashLoopBackOff: back-off 10s, last ended with code 2 (Error): no such flag",
        "container b runs but is not ready",
    ]


@each_row(("away", "ready"), [(0, False), (1, True), (5, True)])
def test_pods_on_nodes_that_are_not_ready_do_not_count(away: int, ready: bool) -> None:
    """The DaemonSet controller wants them nevertheless: its pods tolerate such nodes."""
    status = {"desiredNumberScheduled": 3, "updatedNumberScheduled": 2, "numberAvailable": 2}
    assert state(obj("apps/v1", "DaemonSet", {}, **SEEN, **status), away=away).ready is ready
    assert not state(obj("apps/v1", "DaemonSet", {}, observedGeneration=1, **status), away=away).ready


@each_row(("at_once", "away", "held"), [(1, 1, True), (2, 1, False), (1, 0, False), ("25%", 1, False)])
def test_nodes_that_are_not_ready_may_hold_a_rolling_update(at_once: Any, away: int, held: bool) -> None:
    status = {"desiredNumberScheduled": 3, "updatedNumberScheduled": 0, "numberAvailable": 2}
    spec = {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": at_once}}}
    why = state(obj("apps/v1", "DaemonSet", spec, **SEEN, **status), away=away).why
    assert why.startswith(f"0 of {3 - away} pods are updated") and ("set supernode_max_unavailable to 2" in why) == held


def test_a_rollout_that_is_stuck_since_its_pods_are_refused_may_go_on():
    refused = [*STUCK, *condition("ReplicaFailure", "True", reason="FailedCreate", message="exceeded quota")]
    for conditions, failed in ((STUCK, True), (refused, False)):
        found = state(obj("apps/v1", "Deployment", {}, **SEEN, conditions=conditions))
        assert found.why.startswith("the rollout is stuck") and found.failed is failed


@each_row(
    ("manager", "managed_by", "ready"),
    [("kubectl-patch", "federated.flower", False), ("federated.flower", "federated.flower", True), ("kubectl-patch", "", True)],
)
def test_pods_that_a_partition_of_someone_else_keeps_back(manager: str, managed_by: str, ready: bool) -> None:
    spec = {"replicas": 2, "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 50}}}
    seen = obj("apps/v1", "StatefulSet", spec, **SEEN, readyReplicas=2, replicas=2, currentRevision="a", updateRevision="b")
    seen["metadata"] |= {
        "labels": {"app.kubernetes.io/managed-by": managed_by},
        "managedFields": [
            {"manager": "kube-controller-manager", "subresource": "status", "fieldsV1": {"f:status": {}}},
            {"manager": manager, "fieldsV1": {"f:spec": {"f:updateStrategy": {"f:rollingUpdate": {"f:partition": {}}}}}},
        ],
    }
    found = state(seen)
    assert found.ready is ready and found.failed is not ready
    if not ready:
        assert "0 of 2 replicas are updated" in found.why and "kubectl-patch has set" in found.why and "kubectl patch statefulset x -n n" in found.why
        seen["status"]["updateRevision"] = "a"
        assert state(seen).ready, "nothing is kept back"
