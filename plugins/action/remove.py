# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.remove): take what was deployed out of one cluster, but no volumes unless told."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply import applyset
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.apply.wait import Waiter
from ansible_collections.federated.flower.plugins.plugin_utils.audit.trail import COMPONENT
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.labels import MANAGER
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import (
    CONTROLLER,
    KEY_SOURCES,
    PUBLIC_KEYS,
    SITE,
)
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import job
from ansible_collections.federated.flower.plugins.plugin_utils.skupper.foreign import of_others

_TRAIL = f"app.kubernetes.io/component={COMPONENT}"
_CLAIM = "PersistentVolumeClaim"
_POLICY = "NetworkPolicy"
_MANAGED = f"app.kubernetes.io/managed-by={MANAGER}"


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "namespace": {"type": "str", "required": True},
        "applyset": {"type": "str", "required": True},
        "credentials": {"type": "bool", "default": False},
        "volumes": {"type": "bool", "default": False},
        "more_namespaces": {"type": "list", "elements": "str", "default": []},
        "skupper": {"type": "bool", "default": False},
        "key_source": {"type": "str", "choices": list(KEY_SOURCES), "default": CONTROLLER},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Delete the set; then, as told, secrets and records, volumes, and namespaces that nothing else needs."""
        objects: list[dict[str, Any]] = []
        with self.connect() as cluster:
            if params["key_source"] == SITE and not self.check:
                job.make_room(cluster, params["namespace"], params["wait_timeout"])
            going = self._delete_set(cluster, params)
            kept = ""
            if params["credentials"] or params["volumes"]:
                kept, objects = self._leftovers(cluster, params)
                outcome = apply_objects(
                    cluster,
                    objects,
                    state="absent",
                    check=self.check,
                    wait=True,
                    wait_timeout=params["wait_timeout"],
                )
                going += outcome.objects
                if params["key_source"] == SITE and not self.check:
                    self._await_keys(cluster, params)
        gone = [item for item in going if item["change"] == "deleted"]
        return {
            "changed": bool(gone),
            "objects": gone,
            "msg": f"{len(gone)} objects {'to delete' if self.check else 'deleted'} from {cluster.name}{kept}",
        }

    def _delete_set(self, cluster: Cluster, params: dict[str, Any]) -> list[dict[str, str]]:
        if cluster.get("v1", "Namespace", params["namespace"]) is None:
            return []
        outcome = apply_objects(
            cluster,
            [],
            state="absent",
            applyset=params["applyset"],
            applyset_namespace=params["namespace"],
            check=self.check,
            wait=True,
            wait_timeout=params["wait_timeout"],
        )
        return outcome.objects

    @staticmethod
    def _await_keys(cluster: Cluster, params: dict[str, Any]) -> None:
        """Wait until Kubernetes has deleted the Secrets of an owner that was deleted, and with the last one what tells of them."""
        namespace = params["namespace"]

        def gone() -> bool:
            return cluster.get("v1", "ConfigMap", PUBLIC_KEYS, namespace) is None

        if not Waiter(cluster, params["wait_timeout"]).until(gone):
            raise ClusterError(
                f"the keys that {cluster.name} made itself are still in namespace {namespace} after "
                f"{params['wait_timeout']} s: ConfigMap {PUBLIC_KEYS} names them. Does the cluster's garbage collector "
                "(kube-controller-manager) run? Run again when it does, or let the site's administrators delete them."
            )

    @staticmethod
    def _leftovers(cluster: Cluster, params: dict[str, Any]) -> tuple[str, list[dict[str, Any]]]:
        """What is to go besides the set, and a word on what has to stay."""
        kept = []
        found: list[dict[str, Any]] = []
        own = ["Secret", "ConfigMap"] + ([_CLAIM] if params["volumes"] else [])
        beside = ["Secret", _POLICY]  # in the namespace itself, policies belong to the set
        for name, kinds in {**dict.fromkeys(params["more_namespaces"], beside), params["namespace"]: own}.items():
            namespace = cluster.get("v1", "Namespace", name)
            if namespace is None:
                continue
            trail = [] if params["volumes"] else cluster.list("v1", "ConfigMap", name, labels=_TRAIL)
            foreign = of_others(cluster, name) if params["skupper"] else []
            reason = _reason_to_stay(cluster, namespace, trail, foreign, volumes=params["volumes"])
            if not reason:
                found.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
                continue
            kept.append(f"namespace {name} stays ({reason})")
            staying = {item["metadata"]["uid"] for item in trail}
            for kind in kinds:
                api = "networking.k8s.io/v1" if kind == _POLICY else "v1"
                if kind == _POLICY and not _may(cluster, "list", name, "networkpolicies", group="networking.k8s.io"):
                    continue  # who makes no policies has no rights on them
                if kind == "Secret" and params["key_source"] == SITE and not _may(cluster, "list", name, "secrets"):
                    continue  # those of a site that makes its keys itself go with their owner
                # A StatefulSet makes its claims with the labels by which it finds its pods, and no others.
                labels = f"app.kubernetes.io/name={params['applyset']}" if kind == _CLAIM else _MANAGED
                for item in cluster.list(api, kind, name, labels=labels):
                    if item["metadata"]["uid"] in staying:
                        continue
                    if applyset.ID_LABEL in item["metadata"]["labels"]:
                        continue  # the record of another set, which knows by it what it has made
                    if params["key_source"] == SITE and item["metadata"]["name"] == PUBLIC_KEYS:
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
