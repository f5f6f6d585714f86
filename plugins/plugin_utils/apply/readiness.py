# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is an object ready? One pure function per kind; the rules are those of C(kubectl rollout status) and of kstatus.

====================== ===============================================================================================
kind                   ready when
====================== ===============================================================================================
Deployment             the controller has seen this generation; all replicas are updated and available; no old ones left
StatefulSet            as above; with a partition, the replicas from it on are updated, but where someone else has given a StatefulSet of a
                       federation the partition, all of them; OnDelete: replicas are ready
DaemonSet              as above, on every node it wants but those that are away; OnDelete: available
Pod                    condition Ready, or it has succeeded
Job                    condition Complete (a suspended one counts as ready; Failed is an error at once)
PersistentVolumeClaim  Bound; or Pending for want of a first consumer (see C(claim))
Service                type LoadBalancer: it has an address; other types at once
CustomResource-        Established
Definition
Namespace              Active
TLSRoute               for each parent, a controller says of this generation that it is Accepted and that its references are resolved
HTTPProxy (Contour)    Valid, as of this generation
Route (OpenShift)      a router has admitted it, with the host that it has now; an error at once where each router refuses it
APIService and custom  C(observedGeneration) is current, if there is one, and the condition Ready (else Available) is
resources              True, if there is one; an object without such a condition counts as ready, as in kstatus
everything else        at once (an Ingress too: many controllers never set an address)
====================== ===============================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..base.kinds import group_of
from ..base.labels import MANAGER
from ..marks.proof import is_managed

Object = Mapping[str, Any]


class State(NamedTuple):
    """C(ready), or why not; C(failed) says that waiting cannot help."""

    ready: bool
    why: str = ""
    failed: bool = False


READY = State(True)


def state(obj: Object, *, first_consumer: bool = False, away: int = 0) -> State:
    """The state of C(obj) as it is live.

    Args:
        first_consumer: its storage class binds when a pod is scheduled.
        away: of a DaemonSet, how many of its nodes are not ready. Their pods do not count.
    """
    group, kind = group_of(obj["apiVersion"]), obj["kind"]
    if obj["metadata"].get("deletionTimestamp"):
        return State(False, "it is being deleted")
    if (group, kind) == ("", "PersistentVolumeClaim"):
        return claim(obj, first_consumer=first_consumer)
    if (group, kind) == ("apps", "DaemonSet"):
        return daemon_set(obj, away)
    # Groups of Kubernetes itself have no dot, or end in .k8s.io; so do some CRDs, which then have conditions too.
    rule = _RULES.get((group, kind)) or (custom if "." in group and group not in _OWN_GROUPS else None)
    return rule(obj) if rule else READY


_OWN_NAMES = (
    "admissionregistration apiextensions authentication authorization certificates coordination discovery events flowcontrol.apiserver "
    "networking node rbac.authorization resource scheduling storage"
)
_OWN_GROUPS = frozenset(f"{name}.k8s.io" for name in _OWN_NAMES.split())


def condition(obj: Object, kind: str) -> Mapping[str, Any] | None:
    """The condition of this type, or None."""
    for one in (obj.get("status") or {}).get("conditions") or []:
        if isinstance(one, Mapping) and one.get("type") == kind:
            return one
    return None


def _is_true(obj: Object, kind: str) -> bool:
    return (condition(obj, kind) or {}).get("status") == "True"


def _message(one: Mapping[str, Any]) -> str:
    return ": ".join(str(one[key]) for key in ("reason", "message") if one.get(key))


def updated(obj: Object) -> int:
    """How many pods of a workload are those of its current template; 0 while its controller has not seen that."""
    status = obj.get("status") or {}
    return 0 if _unseen(obj) else status.get("updatedReplicas", status.get("updatedNumberScheduled", 0))


def _unseen(obj: Object) -> State | None:
    seen = (obj.get("status") or {}).get("observedGeneration", 0)
    if seen < obj["metadata"].get("generation", 0):
        return State(False, f"its controller has not observed generation {obj['metadata']['generation']} yet")
    return None


def deployment(obj: Object) -> State:
    """kubectl: DeploymentStatusViewer."""
    if unseen := _unseen(obj):
        return unseen
    spec, status = obj["spec"], obj.get("status") or {}
    progressing = condition(obj, "Progressing")
    if progressing and progressing.get("reason") == "ProgressDeadlineExceeded":
        # While pods are refused, it is stuck until that is corrected, which may have happened since.
        return State(False, f"the rollout is stuck: {_message(progressing)}", failed=condition(obj, "ReplicaFailure") is None)
    wanted, updated = spec.get("replicas", 1), status.get("updatedReplicas", 0)
    if updated < wanted:
        paused = " (it is paused)" if spec.get("paused") else ""
        return State(False, f"{updated} of {wanted} replicas are updated{paused}")
    if status.get("replicas", 0) > updated:
        return State(False, f"{status['replicas'] - updated} old replicas have not terminated yet")
    if status.get("availableReplicas", 0) < updated:
        return State(False, f"{status.get('availableReplicas', 0)} of {updated} replicas are available")
    return READY


def stateful_set(obj: Object) -> State:
    """kubectl: StatefulSetStatusViewer; with C(ordinals.start) the partition counts from there."""
    if unseen := _unseen(obj):
        return unseen
    spec, status = obj["spec"], obj.get("status") or {}
    wanted = spec.get("replicas", 1)
    ready = status.get("readyReplicas", 0)
    if ready < wanted:
        return State(False, f"{ready} of {wanted} replicas are ready")
    if status.get("replicas", 0) > wanted:
        return State(False, f"{status['replicas'] - wanted} surplus replicas have not terminated yet")
    strategy = spec.get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return READY
    start = (spec.get("ordinals") or {}).get("start", 0)
    partition = (strategy.get("rollingUpdate") or {}).get("partition", 0)
    to_update = max(0, start + wanted - max(partition, start))
    updated = status.get("updatedReplicas", 0)
    same = status.get("updateRevision") == status.get("currentRevision")
    if to_update < wanted and not same and updated < wanted and (others := _partitioned_by(obj)):
        place = f"{obj['metadata']['name']} -n {obj['metadata']['namespace']}"
        path = '[{"op": "remove", "path": "/spec/updateStrategy/rollingUpdate/partition"}]'
        why = (
            f"{updated} of {wanted} replicas are updated, and pods with a number below {partition} keep the former template: "
            f"{others} has set spec.updateStrategy.rollingUpdate.partition. When they may be replaced: kubectl patch statefulset {place} "
            f"--type=json -p '{path}'"
        )
        return State(False, why, failed=True)
    if updated < to_update and not (same and to_update == wanted):
        return State(False, f"{updated} of {to_update} replicas are updated")
    if to_update == wanted and not same:
        return State(False, f"revision {status.get('updateRevision')} is not current yet")
    return READY


def _partitioned_by(obj: Object) -> str:
    """Who has set the partition of a StatefulSet of a federation, unless the deployment wants it; empty for those that users apply."""
    meta = obj["metadata"]
    if not is_managed(obj):
        return ""
    names = set()
    for entry in meta.get("managedFields") or []:
        strategy = ((entry.get("fieldsV1") or {}).get("f:spec") or {}).get("f:updateStrategy") or {}
        if "f:partition" in (strategy.get("f:rollingUpdate") or {}):
            names.add(str(entry.get("manager")))
    return "" if MANAGER in names else ", ".join(sorted(names))


def daemon_set(obj: Object, away: int = 0) -> State:
    """kubectl: DaemonSetStatusViewer. C(away): see C(state); the controller wants pods on such nodes as well."""
    if unseen := _unseen(obj):
        return unseen
    status = obj.get("status") or {}
    wanted = max(0, status.get("desiredNumberScheduled", 0) - away)
    strategy = obj["spec"].get("updateStrategy") or {}
    on_delete = strategy.get("type") == "OnDelete"
    updated = status.get("updatedNumberScheduled", 0)
    if updated < wanted and not on_delete:
        at_once = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1)
        # kube-controller-manager, daemon/update.go: a pod that cannot end on such a node counts as one that is being replaced.
        is_blocked = isinstance(at_once, int) and at_once <= away
        why = (
            f"; {away} nodes that are not ready count for its maxUnavailable ({at_once}), so no other pod is replaced: set "
            f"supernode_max_unavailable to {away + 1}, or repair or delete these nodes"
        )
        return State(False, f"{updated} of {wanted} pods are updated{why if is_blocked else ''}")
    if status.get("numberAvailable", 0) < wanted:
        return State(False, f"{status.get('numberAvailable', 0)} of {wanted} pods are available")
    return READY


def claim(obj: Object, *, first_consumer: bool) -> State:
    """A claim whose storage class binds on first use is ready while no pod uses it.

    The scheduler records the node of the first pod in an annotation; then the volume must be provisioned.
    """
    phase = (obj.get("status") or {}).get("phase", "Pending")
    if phase == "Bound":
        return READY
    if phase == "Lost":
        return State(False, "its volume is lost", failed=True)
    scheduled = (obj["metadata"].get("annotations") or {}).get("volume.kubernetes.io/selected-node")
    if first_consumer and not scheduled:
        return READY
    return State(False, f"it is {phase}, not Bound")


def job(obj: Object) -> State:
    """Complete, or failed for good."""
    if _is_true(obj, "Failed"):
        return State(False, f"the job has failed: {_message(condition(obj, 'Failed') or {})}", failed=True)
    if _is_true(obj, "Complete") or obj["spec"].get("suspend"):
        return READY
    return State(False, f"{(obj.get('status') or {}).get('succeeded', 0)} of {obj['spec'].get('completions', 1)} completions")


def pod(obj: Object) -> State:
    """Ready or done."""
    status = obj.get("status") or {}
    if status.get("phase") == "Failed":
        return State(False, f"the pod has failed: {_message(status)}", failed=True)
    if status.get("phase") == "Succeeded" or _is_true(obj, "Ready"):
        return READY
    return State(False, f"it is {status.get('phase', 'Pending')}, not Ready")


def service(obj: Object) -> State:
    """A load balancer has an address."""
    if obj["spec"].get("type") != "LoadBalancer" or ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress"):
        return READY
    return State(
        False,
        "the load balancer has no address. A cloud, or a controller in the cluster such as MetalLB, must assign one; without either, use "
        "another type of Service (for a hub, superlink_exposure: node_port)",
    )


def crd(obj: Object) -> State:
    """Established, and its names are accepted."""
    names = condition(obj, "NamesAccepted")
    if names and names.get("status") == "False":
        return State(False, f"its names are not accepted: {_message(names)}", failed=True)
    return READY if _is_true(obj, "Established") else State(False, "it is not Established")


def route(obj: Object) -> State:
    """What routers write: one entry for each, with the host that it was about (openshift/api, route/v1, RouteIngress)."""
    host = (obj.get("spec") or {}).get("host", "")
    entries = [one for one in (obj.get("status") or {}).get("ingress") or [] if one.get("host") == host]
    refusals = []
    for entry in entries:
        admitted = condition({"status": entry}, "Admitted") or {}
        if admitted.get("status") == "True":
            return READY
        if admitted.get("status") == "False":
            refusals.append(f"router {entry.get('routerName') or '(no name)'} refuses host {host}: {_message(admitted) or 'no reason reported'}")
    if refusals:
        return State(False, "; ".join(refusals), failed=len(refusals) == len(entries))
    return State(False, f"no router has admitted host {host or '(none yet)'}")


def tls_route(obj: Object) -> State:
    """Each parent is reported by the controllers that look after it (Gateway API reference, RouteParentStatus)."""
    wanted, generation = (obj.get("spec") or {}).get("parentRefs") or [], obj["metadata"].get("generation")
    reports = [one for one in (obj.get("status") or {}).get("parents") or [] if isinstance(one, Mapping)]
    for parent in wanted:
        name, why = f"Gateway {parent.get('namespace') or obj['metadata'].get('namespace')}/{parent.get('name')}", ""
        for report in (one for one in reports if _is_same_parent(one.get("parentRef") or {}, parent, obj)):
            doubts = [doubt for kind in ("Accepted", "ResolvedRefs") if (doubt := _doubt({"status": report}, kind, generation))]
            why = "; ".join(doubts)
            if not doubts:
                break
        else:
            why = why or "no controller has reported a status. Check that the controller of its class is running"
            return State(False, f"{name} has not accepted it: {why}")
    return READY


def _is_same_parent(reported: Object, wanted: Object, obj: Object) -> bool:
    home = obj["metadata"].get("namespace")
    return all(reported.get(key) == wanted.get(key) for key in ("name", "sectionName", "port")) and (
        (reported.get("namespace") or home) == (wanted.get("namespace") or home)
    )


def _doubt(obj: Object, kind: str, generation: Any) -> str:
    """Why a condition does not hold; one of another generation says nothing. Empty where it holds."""
    one = condition(obj, kind)
    if one is None or one.get("observedGeneration", generation) != generation:
        return f"its controller has not reported {kind} of generation {generation} yet"
    return "" if one.get("status") == "True" else f"{kind} is {one.get('status')} ({_message(one) or 'no reason reported'})"


def http_proxy(obj: Object) -> State:
    """What Contour writes (projectcontour.io/v1, HTTPProxyStatus); the condition Valid has the errors."""
    errors = [_message(one) for one in (condition(obj, "Valid") or {}).get("errors") or [] if isinstance(one, Mapping)]
    why = "; ".join(filter(None, [_doubt(obj, "Valid", obj["metadata"].get("generation")), *errors]))
    return State(False, why) if why else READY


def namespace(obj: Object) -> State:
    """Active."""
    phase = (obj.get("status") or {}).get("phase")
    return READY if phase == "Active" else State(False, f"it is {phase or 'not Active'}")


def custom(obj: Object) -> State:
    """https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md"""
    seen = (obj.get("status") or {}).get("observedGeneration")
    if isinstance(seen, int) and (unseen := _unseen(obj)):
        return unseen
    if _is_true(obj, "Stalled"):
        return State(False, f"it is stalled: {_message(condition(obj, 'Stalled') or {})}", failed=True)
    for kind in ("Ready", "Available"):
        if one := condition(obj, kind):
            return READY if one.get("status") == "True" else State(False, f"it is not {kind} ({_message(one) or 'no reason reported'})")
    return READY


_RULES: dict[tuple[str, str], Callable[[Object], State]] = {
    ("apps", "Deployment"): deployment,
    ("apps", "StatefulSet"): stateful_set,
    ("apps", "DaemonSet"): daemon_set,
    ("", "Pod"): pod,
    ("batch", "Job"): job,
    ("", "Service"): service,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): crd,
    ("", "Namespace"): namespace,
    ("route.openshift.io", "Route"): route,
    ("gateway.networking.k8s.io", "TLSRoute"): tls_route,
    ("projectcontour.io", "HTTPProxy"): http_proxy,
}
