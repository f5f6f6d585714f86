# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Take what was deployed out of one cluster, but no volumes unless that is wanted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..apply import applyset
from ..apply.engine import apply_objects
from ..apply.wait import Waiter
from ..audit.trail import COMPONENT
from ..base.errors import ClusterError
from ..base.labels import MANAGER
from ..base.names import PUBLIC_KEYS
from ..kube.client import Cluster
from ..site_keys import job
from ..skupper.foreign import of_others
from .site import Done

_TRAIL = f"app.kubernetes.io/component={COMPONENT}"
_CLAIM = "PersistentVolumeClaim"
_POLICY = "NetworkPolicy"
_MANAGED = f"app.kubernetes.io/managed-by={MANAGER}"


@dataclass(frozen=True)
class Wanted:
    """What is to go.

    Attributes:
        namespace: of the part.
        applyset: name of its set.
        credentials: Secrets and records, too.
        volumes: volumes, too.
        more_namespaces: other namespaces with Secrets of the part.
        skupper: whether the part is in a Skupper network.
        made_at_site: whether the site made its keys itself.
        seconds: how long to wait until it is gone.
    """

    namespace: str
    applyset: str
    credentials: bool = False
    volumes: bool = False
    more_namespaces: tuple[str, ...] = ()
    skupper: bool = False
    made_at_site: bool = False
    seconds: int = 300


def remove(cluster: Cluster, wanted: Wanted, *, check: bool) -> Done:
    """Delete the set; then, as wanted, secrets and records, volumes, and namespaces that nothing else needs."""
    objects: list[dict[str, Any]] = []
    if wanted.made_at_site and not check:
        job.make_room(cluster, wanted.namespace, wanted.seconds)
    going = _delete_set(cluster, wanted, check=check)
    kept = ""
    if wanted.credentials or wanted.volumes:
        kept, objects = _leftovers(cluster, wanted)
        outcome = apply_objects(cluster, objects, state="absent", check=check, wait=True, wait_timeout=wanted.seconds)
        going = going + outcome.objects
        if wanted.made_at_site and not check:
            _await_keys(cluster, wanted)
    gone = [item for item in going if item["change"] == "deleted"]
    msg = f"{len(gone)} objects {'to delete' if check else 'deleted'} from {cluster.name}{kept}"
    return Done(changed=bool(gone), objects=gone, msg=msg)


def _delete_set(cluster: Cluster, wanted: Wanted, *, check: bool) -> list[dict[str, str]]:
    if cluster.get("v1", "Namespace", wanted.namespace) is None:
        return []
    outcome = apply_objects(
        cluster,
        [],
        state="absent",
        applyset=wanted.applyset,
        applyset_namespace=wanted.namespace,
        check=check,
        wait=True,
        wait_timeout=wanted.seconds,
    )
    return outcome.objects


def _await_keys(cluster: Cluster, wanted: Wanted) -> None:
    """Wait until Kubernetes has deleted the Secrets of an owner that was deleted, and with the last one what tells of them."""
    namespace = wanted.namespace

    def gone() -> bool:
        return cluster.get("v1", "ConfigMap", PUBLIC_KEYS, namespace) is None

    if not Waiter(cluster, wanted.seconds).until(gone):
        raise ClusterError(
            f"the keys that {cluster.name} made itself are still in namespace {namespace} after "
            f"{wanted.seconds} s: ConfigMap {PUBLIC_KEYS} names them. Does the cluster's garbage collector "
            "(kube-controller-manager) run? Run again when it does, or let the site's administrators delete them."
        )


def _leftovers(cluster: Cluster, wanted: Wanted) -> tuple[str, list[dict[str, Any]]]:
    """What is to go besides the set, and a word on what has to stay."""
    kept = []
    found: list[dict[str, Any]] = []
    own = ["Secret", "ConfigMap"] + ([_CLAIM] if wanted.volumes else [])
    beside = ["Secret", _POLICY]  # in the namespace itself, policies belong to the set
    for name, kinds in {**dict.fromkeys(wanted.more_namespaces, beside), wanted.namespace: own}.items():
        namespace = cluster.get("v1", "Namespace", name)
        if namespace is None:
            continue
        trail = [] if wanted.volumes else cluster.list("v1", "ConfigMap", name, labels=_TRAIL)
        foreign = of_others(cluster, name) if wanted.skupper else []
        reason = _reason_to_stay(cluster, namespace, trail, foreign, volumes=wanted.volumes)
        if not reason:
            found.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            continue
        kept.append(f"namespace {name} stays ({reason})")
        staying = {item["metadata"]["uid"] for item in trail}
        for kind in kinds:
            api = "networking.k8s.io/v1" if kind == _POLICY else "v1"
            if kind == _POLICY and not _may(cluster, "list", name, "networkpolicies", group="networking.k8s.io"):
                continue  # who makes no policies has no rights on them
            if kind == "Secret" and wanted.made_at_site and not _may(cluster, "list", name, "secrets"):
                continue  # those of a site that makes its keys itself go with their owner
            # A StatefulSet makes its claims with the labels by which it finds its pods, and no others.
            labels = f"app.kubernetes.io/name={wanted.applyset}" if kind == _CLAIM else _MANAGED
            for item in cluster.list(api, kind, name, labels=labels):
                if item["metadata"]["uid"] in staying:
                    continue
                if applyset.ID_LABEL in item["metadata"]["labels"]:
                    continue  # the record of another set, which knows by it what it has made
                if wanted.made_at_site and item["metadata"]["name"] == PUBLIC_KEYS:
                    continue  # goes with the last of the Secrets that it tells of
                found.append(
                    {
                        "apiVersion": api,
                        "kind": kind,
                        "metadata": {"name": item["metadata"]["name"], "namespace": name},
                    }
                )
    return "".join(f"; {word}" for word in kept), found


def _reason_to_stay(
    cluster: Cluster, namespace: dict[str, Any], trail: list[dict[str, Any]], foreign: list[str], *, volumes: bool
) -> str:
    """Why a namespace is not deleted; empty if it is."""
    name = namespace["metadata"]["name"]
    if namespace["metadata"].get("labels", {}).get("app.kubernetes.io/managed-by") != MANAGER:
        return "it was made by somebody else"
    claims = [] if volumes else cluster.list("v1", _CLAIM, name)
    holds = [f"{len(claims)} volume claims"] if claims else []
    holds += ["the audit trail"] if trail else []
    holds += [f"{', '.join(foreign)}, made by somebody else"] if foreign else []
    if holds:
        return " and ".join(holds)
    # Who deploys with rights in namespaces only keeps them, and so can deploy again.
    return "" if _may(cluster, "delete", name, "namespaces", name=name) else "the rights to delete it are missing"


def _may(cluster: Cluster, verb: str, namespace: str, resource: str, **more: str) -> bool:
    (allowed,) = cluster.access_review([{"verb": verb, "resource": resource, "namespace": namespace, **more}])
    return allowed
