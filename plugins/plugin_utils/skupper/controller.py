# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Skupper's controller: what is installed, from manifests of a release or by OpenShift's operator. Pure.

Sources of the rules: the release's manifests (skupper-cluster-scope.yaml, skupper-namespace-scope.yaml), and the install guides
of Red Hat Service Interconnect 2: channel stable-2, install mode AllNamespaces only, an OperatorGroup with an empty spec where
the operator is not in openshift-operators. An upgrade restarts the routers of all sites of that controller, so it is never done
unasked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from ..apply import applyset as sets
from ..apply import readiness
from ..base.kinds import builtin
from ..base.labels import MANAGER
from ..base.values import text
from ..manifests.skupper import API
from ..marks import proof
from ..spec.network_spec import NetworkSiteSpec
from . import state
from .ownership import is_ours
from .state import State

Object = dict[str, Any]

OURS = {"app.kubernetes.io/managed-by": MANAGER}
NAME = "skupper-controller"  # Deployment, applyset
SYSTEM = "skupper"  # namespace of a controller for the whole cluster
RELEASES = "https://github.com/skupperproject/skupper/releases/download"
DEFINITION = "sites.skupper.io"  # one of its CustomResourceDefinitions; they come together
OPERATORS = "operators.coreos.com/v1alpha1"
GROUPS = "operators.coreos.com/v1"
PACKAGE = "skupper-operator"
OPENSHIFT_OPERATORS = "openshift-operators"  # has an OperatorGroup for all namespaces


def location(spec: NetworkSiteSpec) -> str:
    """Where the manifests are: the user's file or URL, else those of the release."""
    return spec.manifests or f"{RELEASES}/{spec.version}/skupper-{spec.scope}-scope.yaml"


def home(spec: NetworkSiteSpec) -> str:
    """Namespace of the controller."""
    if spec.install == "operator":
        return spec.operator_namespace
    return spec.namespace if spec.scope == "namespace" else SYSTEM


def read(content: bytes, checksum: str, where: str) -> list[Object]:
    """The objects in the manifests.

    Raises:
        ValueError: the text is not what it should be.
    """
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    if checksum and digest != checksum:
        raise ValueError(f"{where} has the checksum {digest}, not {checksum} (skupper_site_manifests_checksum)")
    try:
        found = [item for item in yaml.safe_load_all(content) if item]
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{where} is not YAML: {' '.join(str(error).split())}") from error
    if not all(isinstance(item, dict) and item.get("kind") and item.get("apiVersion") for item in found):
        raise ValueError(f"{where} contains an entry that is not a Kubernetes object")
    if not any(item["kind"] == "Deployment" and item["metadata"]["name"] == NAME for item in found):
        raise ValueError(f"{where} has no Deployment {NAME}: are these the manifests of Skupper 2?")
    return found


def placed(objects: Iterable[Object], namespace: str) -> list[Object]:
    """The objects with the namespace that C(kubectl -n) would set, and CustomResourceDefinitions first."""
    made = []
    for item in objects:
        known = builtin(item["apiVersion"], item["kind"])
        namespaced = known[1] if known else item["apiVersion"] == API
        meta = dict(item["metadata"])
        if namespaced:
            meta.setdefault("namespace", namespace)
        item = {**item, "metadata": meta}
        if item["kind"] in ("RoleBinding", "ClusterRoleBinding"):
            item["subjects"] = [
                {**one, "namespace": one.get("namespace") or namespace} if one.get("kind") == "ServiceAccount" else one
                for one in item.get("subjects") or []
            ]
        made.append(item)
    return made


def marked(objects: Iterable[Object], live: Mapping[str, Any] | None) -> list[Object]:
    """The objects, with a mark on the Namespace among them that this collection created it.

    Args:
        objects: what is applied.
        live: that Namespace, if it exists. One that existed before is not marked.
    """
    ours = live is None or is_ours(live)
    return [
        {**item, "metadata": {**item["metadata"], "labels": {**(item["metadata"].get("labels") or {}), **OURS}}}
        if ours and item["kind"] == "Namespace"
        else item
        for item in objects
    ]


def is_part(obj: Mapping[str, Any], namespace: str) -> bool:
    """Whether an object is removed with the controller that this collection installed in a namespace: a member of its set, or the record."""
    labels = proof.labels_of(obj)
    return sets.set_id(NAME, namespace) in (labels.get(sets.PART_OF), labels.get(sets.ID_LABEL))


def serves_all(spec: NetworkSiteSpec) -> bool:
    """Whether the controller serves the Sites of all namespaces, as an operator's always does."""
    return spec.install == "operator" or spec.scope == "cluster"


def operator_label(namespace: str) -> str:
    """A selector of what Operator Lifecycle Manager has installed for the operator in a namespace (operator-framework/api, «OperatorKey»)."""
    return f"operators.coreos.com/{PACKAGE}.{namespace}"


def is_older(obj: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    """Whether an object was there before the record of this collection's."""
    return text(obj["metadata"].get("creationTimestamp")) < text(record["metadata"].get("creationTimestamp"))


def why_stays(live: Mapping[str, Any] | None, left: Iterable[Mapping[str, Any]], unseen: str = "") -> str:
    """Why the namespace of a removed controller stays; empty when it is deleted.

    Args:
        live: the Namespace.
        left: objects in it that are not removed with the controller, and that no cluster creates automatically.
        unseen: why it is not known what else is in it; empty if it is known.
    """
    if live is None or not is_ours(live) or not proof.created_alone(live):
        return "it was not created by this collection"
    if unseen:
        return unseen
    staying = [one for one in left if not one["metadata"].get("deletionTimestamp")]
    held = sorted(f"{one['kind']} {one['metadata']['name']}" for one in staying)
    return f"it contains {', '.join(held[:5])}{' and more' if len(held) > 5 else ''}" if held else ""


def strange(
    spec: NetworkSiteSpec,
    definition: Mapping[str, Any] | None,
    deployments: Iterable[Mapping[str, Any]] = (),
    sites: Iterable[Mapping[str, Any]] = (),
) -> str:
    """Why a controller must not be installed beside what someone else installed, a sentence without its full stop; empty if it may.

    CustomResourceDefinitions that this collection wrote, and whose controller is lost, are no obstacle.

    Args:
        spec: what is to be installed; nothing of it exists.
        definition: the CustomResourceDefinition of Sites, if it exists.
        deployments: all controllers of the cluster.
        sites: all Sites of the cluster, of which the release of their controller is known.
    """
    others = [
        one for one in deployments if one["metadata"]["namespace"] != home(spec) and not _serves_one_namespace(one)
    ]
    whole = serves_all(spec)
    written = spec.install == "manifests" and definition is not None and not proof.has_written(definition)
    if not written and not (whole and others):
        return ""
    found = [f"Deployment {one['metadata']['namespace']}/{NAME} ({image(one)})" for one in others]
    served = {text((state.status(one).get("controller") or {}).get("version")) for one in sites} - {""}
    told = f"Skupper {', '.join(sorted(served))}" if served else "Skupper"
    why = f"{told} is installed already" + (f": {', '.join(found)}" if found else "")
    if written and definition is not None:
        why += f". Its CustomResourceDefinition {DEFINITION} {proof.holder(definition)}, and the manifests would overwrite it"
    if whole and others:
        why += ". A second controller for the whole cluster would serve the same Sites"
    remedy = "Set skupper_site_install to none for this host: what is installed is then used as it is"
    if not others:
        remedy += (
            f". No controller for the whole cluster was found: if none runs, install one in the same way as {DEFINITION}, or, if "
            "nothing uses them, delete Skupper's CustomResourceDefinitions"
        )
    return f"{why}. {remedy}"


def _serves_one_namespace(deployment: Mapping[str, Any]) -> bool:
    """Whether a controller is that of its own namespace only."""
    pod = (((deployment.get("spec") or {}).get("template") or {}).get("spec")) or {}
    return any(
        entry.get("name") == "WATCH_NAMESPACE" for one in pod.get("containers") or [] for entry in one.get("env") or []
    )


def release(deployment: Mapping[str, Any] | None) -> str:
    """Tag of the controller's image; empty for none."""
    containers = (((deployment or {}).get("spec") or {}).get("template") or {}).get("spec", {}).get("containers") or []
    image = text(next((one.get("image") for one in containers), ""))
    tag = image.partition("@")[0].rpartition(":")
    return tag[2] if tag[0] and "/" not in tag[2] else ""


def image(deployment: Mapping[str, Any] | None) -> str:
    """The controller's image."""
    containers = (((deployment or {}).get("spec") or {}).get("template") or {}).get("spec", {}).get("containers") or []
    return text(next((one.get("image") for one in containers), ""))


def groups_fault(namespace: str, groups: Sequence[Mapping[str, Any]]) -> str:
    """Why the operator cannot be installed beside these OperatorGroups, a sentence without its full stop; empty if it can.

    Args:
        namespace: the operator's.
        groups: all OperatorGroups there.
    """
    if len(groups) > 1:
        names = ", ".join(sorted(one["metadata"]["name"] for one in groups))
        return (
            f"namespace {namespace} has {len(groups)} OperatorGroups ({names}), with which no operator is installed there. Delete all but one, "
            "or select another namespace (skupper_site_operator_namespace)"
        )
    for one in groups:
        given = one.get("spec") or {}
        if given.get("targetNamespaces") or given.get("selector"):
            return (
                f"OperatorGroup {namespace}/{one['metadata']['name']} is for certain namespaces, and Skupper's operator can only be installed "
                f"for all. Select another namespace (skupper_site_operator_namespace), for example {OPENSHIFT_OPERATORS}"
            )
    return ""


def subscription(spec: NetworkSiteSpec, groups: Sequence[Mapping[str, Any]] = ()) -> list[Object]:
    """The operator's Subscription, with an OperatorGroup where the namespace has none of someone else.

    Args:
        spec: the Site's specification.
        groups: all OperatorGroups of the operator's namespace, against which C(groups_fault) has nothing.
    """
    namespace = home(spec)
    made: list[Object] = []
    if namespace != OPENSHIFT_OPERATORS and all(is_part(one, namespace) for one in groups):
        made.append(
            {
                "apiVersion": GROUPS,
                "kind": "OperatorGroup",
                "metadata": {"name": PACKAGE, "namespace": namespace},
                "spec": {},
            }
        )
    body = {
        "channel": spec.operator_channel,
        "name": PACKAGE,
        "source": spec.operator_source,
        "sourceNamespace": spec.operator_source_namespace,
        "installPlanApproval": spec.operator_approval,
    }
    if spec.operator_csv:
        body["startingCSV"] = spec.operator_csv
    made.append(
        {
            "apiVersion": OPERATORS,
            "kind": "Subscription",
            "metadata": {"name": PACKAGE, "namespace": namespace},
            "spec": body,
        }
    )
    return made


def channel_fault(found: Mapping[str, Any]) -> str:
    """Why a Subscription that is there is of no use; empty if it is."""
    channel = text((found.get("spec") or {}).get("channel"))
    if channel.startswith("stable-2"):
        return ""
    meta = found["metadata"]
    return (
        f"Subscription {meta['namespace']}/{meta['name']} follows the channel {channel}, of another generation of Service Interconnect, "
        "which no upgrade crosses: migrate it by hand first"
    )


def operator_state(
    found: Mapping[str, Any], csv: Mapping[str, Any] | None, deployment: Mapping[str, Any] | None
) -> State:
    """Whether the operator has installed the controller, and what is missing.

    Args:
        found: the Subscription, live.
        csv: the ClusterServiceVersion that it lists as installed.
        deployment: the controller.
    """
    status = found.get("status") or {}
    meta = found["metadata"]
    if not status.get("installedCSV"):
        plan = (status.get("installPlanRef") or {}).get("name")
        if plan and (found.get("spec") or {}).get("installPlanApproval") == "Manual":
            return State(False, f"InstallPlan {meta['namespace']}/{plan} waits for an administrator's approval", True)
        problems = [
            text(one.get("message"))
            for one in status.get("conditions") or []
            if one.get("status") == "True"
            and one.get("type") in ("ResolutionFailed", "CatalogSourcesUnhealthy", "InstallPlanFailed")
        ]
        return State(False, f"nothing is installed yet{': ' + '; '.join(problems) if problems else ''}")
    phase = text((csv or {}).get("status", {}).get("phase"))
    if phase != "Succeeded":
        why = text((csv or {}).get("status", {}).get("message"))
        return State(
            False,
            f"ClusterServiceVersion {status['installedCSV']} is {phase or 'not there'}{': ' + why if why else ''}",
        )
    if deployment is None:
        return State(False, f"Deployment {NAME} does not exist")
    ready = readiness.deployment(deployment)
    return State(ready.ready, f"Deployment {NAME}: {ready.why}" if not ready.ready else "")
