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
from ..apply.readiness import State
from ..base.kinds import builtin
from ..base.labels import MANAGER
from ..base.values import text
from ..manifests.skupper import API
from ..marks import proof
from ..spec.network_spec import NetworkSiteSpec
from .ownership import is_ours

Object = dict[str, Any]
Live = Mapping[str, Any]

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


def serves_all(spec: NetworkSiteSpec) -> bool:
    """Whether the controller serves the Sites of all namespaces, as an operator's always does."""
    return spec.install == "operator" or spec.scope == "cluster"


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
        raise ValueError(f"{where} has no Deployment {NAME}: check that these are the manifests of Skupper 2")
    return found


def placed(objects: Iterable[Object], namespace: str) -> list[Object]:
    """The objects with the namespace that C(kubectl -n) would set."""
    found = []
    for item in objects:
        known = builtin(item["apiVersion"], item["kind"])
        namespaced = known[1] if known else item["apiVersion"] == API
        item = {**item, "metadata": {**({"namespace": namespace} if namespaced else {}), **item["metadata"]}}
        if item["kind"] in ("RoleBinding", "ClusterRoleBinding"):
            accounts = [one for one in item.get("subjects") or [] if one.get("kind") == "ServiceAccount"]
            item["subjects"] = [{**one, "namespace": one.get("namespace") or namespace} if one in accounts else one for one in item.get("subjects") or []]
        found.append(item)
    return found


def marked(objects: Iterable[Object], live: Live | None) -> list[Object]:
    """The objects, with a mark on the Namespace among them that this collection created it.

    Args:
        live: that Namespace, if it exists. One that existed before is not marked.
    """
    label = {"app.kubernetes.io/managed-by": MANAGER} if live is None or is_ours(live) else {}
    return [
        {**item, "metadata": {**item["metadata"], "labels": {**(item["metadata"].get("labels") or {}), **label}}} if item["kind"] == "Namespace" else item
        for item in objects
    ]


def is_part(obj: Live, namespace: str) -> bool:
    """Whether an object is removed with the controller that this collection installed in a namespace: a member of its set, or the record."""
    labels = proof.labels_of(obj)
    return sets.set_id(NAME, namespace) in (labels.get(sets.PART_OF), labels.get(sets.ID_LABEL))


def why_stays(live: Live | None, left: Iterable[Live], unseen: str = "") -> str:
    """Why the namespace of a removed controller stays; empty when it is deleted.

    Args:
        live: the Namespace.
        left: objects in it that are not removed with the controller, and that no cluster creates automatically.
        unseen: why it is not known what else is in it; empty if it is known.
    """
    if live is None or not is_ours(live) or not proof.created_alone(live):
        return "it was not created by this collection"
    names = sorted(f"{one['kind']} {one['metadata']['name']}" for one in left if not one["metadata"].get("deletionTimestamp"))
    return unseen or (f"it contains {', '.join(names[:5])}{' and more' if len(names) > 5 else ''}" if names else "")


def others_error(spec: NetworkSiteSpec, definition: Live | None, deployments: Iterable[Live] = ()) -> str:
    """Why a controller must not be installed beside what someone else installed, a sentence without its full stop; empty if it may.

    CustomResourceDefinitions that this collection wrote, and whose controller is lost, are no obstacle.

    Args:
        spec: what is to be installed; nothing of it exists.
        definition: the CustomResourceDefinition of Sites, if it exists.
        deployments: all controllers of the cluster.
    """
    others = []
    for one in deployments if serves_all(spec) else ():
        serves_one = any(entry.get("name") == "WATCH_NAMESPACE" for container in _containers(one) for entry in container.get("env") or [])
        if one["metadata"]["namespace"] != home(spec) and not serves_one:
            others.append(f"Deployment {one['metadata']['namespace']}/{NAME} ({image(one)})")
    why = []
    if spec.install == "manifests" and definition is not None and not proof.has_written(definition):
        why.append(f". Its CustomResourceDefinition {DEFINITION} {proof.holder(definition)}, and the manifests would overwrite it")
    if others:
        why = [f": {', '.join(others)}", *why, ". A second controller for the whole cluster would serve the same Sites"]
    remedy = "Set skupper_site_install to none for this host: what is installed is then used as it is"
    return f"Skupper is installed already{''.join(why)}. {remedy}" if why else ""


def _containers(deployment: Live | None) -> Sequence[Live]:
    return (((deployment or {}).get("spec") or {}).get("template") or {}).get("spec", {}).get("containers") or []


def image(deployment: Live | None) -> str:
    """The controller's image; empty for none."""
    return text(next((one.get("image") for one in _containers(deployment)), ""))


def release(deployment: Live | None) -> str:
    """Tag of the controller's image; empty for none."""
    repository, _colon, tag = image(deployment).partition("@")[0].rpartition(":")
    return tag if repository and "/" not in tag else ""


def subscription(spec: NetworkSiteSpec, groups: Iterable[Live] = ()) -> list[Object]:
    """The operator's Subscription, with an OperatorGroup where the namespace has none of someone else.

    Args:
        groups: all OperatorGroups of the operator's namespace.
    """
    meta = {"name": PACKAGE, "namespace": home(spec)}
    group: Object = {"apiVersion": GROUPS, "kind": "OperatorGroup", "metadata": meta, "spec": {}}
    needs_group = home(spec) != OPENSHIFT_OPERATORS and all(is_part(one, home(spec)) for one in groups)
    body = {
        "channel": spec.operator_channel,
        "name": PACKAGE,
        "source": spec.operator_source,
        "sourceNamespace": spec.operator_source_namespace,
        "installPlanApproval": spec.operator_approval,
        **({"startingCSV": spec.operator_csv} if spec.operator_csv else {}),
    }
    return [*([group] if needs_group else []), {"apiVersion": OPERATORS, "kind": "Subscription", "metadata": meta, "spec": body}]


def channel_fault(found: Live) -> str:
    """Why a Subscription that is there is of no use; empty if it is."""
    channel = text((found.get("spec") or {}).get("channel"))
    if channel.startswith("stable-2"):
        return ""
    meta = found["metadata"]
    return (
        f"Subscription {meta['namespace']}/{meta['name']} follows the channel {channel}, of another generation of Service Interconnect, "
        "which upgrades do not support: migrate it manually first"
    )


def operator_state(found: Live, csv: Live | None, deployment: Live | None) -> State:
    """Whether the operator has installed the controller, and what is missing.

    Args:
        found: the Subscription, live.
        csv: the ClusterServiceVersion that it lists as installed.
        deployment: the controller.
    """
    status = found.get("status") or {}
    if not status.get("installedCSV"):
        plan = (status.get("installPlanRef") or {}).get("name")
        if plan and (found.get("spec") or {}).get("installPlanApproval") == "Manual":
            return State(False, f"InstallPlan {found['metadata']['namespace']}/{plan} waits for an administrator's approval", True)
        bad = ("ResolutionFailed", "CatalogSourcesUnhealthy", "InstallPlanFailed")
        problems = [text(one.get("message")) for one in status.get("conditions") or [] if one.get("status") == "True" and one.get("type") in bad]
        return State(False, f"nothing is installed yet{': ' + '; '.join(problems) if problems else ''}")
    installed = (csv or {}).get("status") or {}
    if installed.get("phase") != "Succeeded":
        why = f": {installed['message']}" if installed.get("message") else ""
        return State(False, f"ClusterServiceVersion {status['installedCSV']} is {installed.get('phase') or 'not there'}{why}")
    if deployment is None:
        return State(False, f"Deployment {NAME} does not exist")
    ready = readiness.deployment(deployment)
    return State(ready.ready, "" if ready.ready else f"Deployment {NAME}: {ready.why}")
