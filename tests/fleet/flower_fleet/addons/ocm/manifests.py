# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Definitions and rights of Open Cluster Management: files of its Go modules, rendered as its operators render them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import golang
from ...binaries import OCM, OCM_HUB
from ...shell import run

Object = dict[str, Any]
MODULE = "open-cluster-management.io/ocm"
# On everything that the add-on itself makes, so that it knows what to remove.
LABEL = "fleet.test/addon"
BASE_SPACE = "open-cluster-management"
HUB_SPACE = "open-cluster-management-hub"
AGENT_SPACE = "open-cluster-management-agent"
ADDON_SPACE = "open-cluster-management-agent-addon"
WEBHOOK_PORT = 9443
GATE = "ManifestWorkReplicaSet"  # a feature gate, off by default
REGISTRATION_ACCOUNT, WORK_ACCOUNT = "klusterlet-registration-sa", "klusterlet-work-sa"
BOOTSTRAP_ACCOUNT = "agent-registration-bootstrap"
# What the templates ask for; the names are those that the operators use.
VALUES = {
    "ClusterManagerName": "cluster-manager",
    "ClusterManagerNamespace": HUB_SPACE,
    "KlusterletName": "klusterlet",
    "KlusterletNamespace": AGENT_SPACE,
    "AgentNamespace": AGENT_SPACE,
    "RegistrationServiceAccount": REGISTRATION_ACCOUNT,
    "WorkServiceAccount": WORK_ACCOUNT,
    "RegistrationWebhook": {"Port": WEBHOOK_PORT},
    "Labels": {},
    "Release": {"Namespace": BASE_SPACE},
    "Values": {"createBootstrapSA": True},
}
# Each controller has the definitions and rights of its own release. Of works the agents are the older ones, and they write
# a field that the newer definitions do not have.
_HUB = (
    "cluster-manager/hub/*_work.open-cluster-management.io_*.crd.yaml",
    "cluster-manager/hub/cluster-manager-registration-clusterrole*.yaml",
    "cluster-manager/hub/cluster-manager-registration-serviceaccount.yaml",
    "cluster-manager/hub/cluster-manager-registration-webhook-clusterrole*.yaml",
    "cluster-manager/hub/cluster-manager-registration-webhook-serviceaccount.yaml",
    "cluster-manager/hub/cluster-manager-registration-webhook-*configuration.yaml",
    "cluster-manager/hub/cluster-manager-manifestworkreplicaset-*.yaml",
    "cluster-manager/hub/cluster-manager-work-executor-admin-clusterrole.yaml",
    "../deploy/cluster-manager/config/crds/*clustermanagers.crd.yaml",
    "../deploy/cluster-manager/chart/cluster-manager/templates/bootstrap_cluster_role.yaml",
    "../deploy/cluster-manager/chart/cluster-manager/templates/bootstrap_sa.yaml",
    "../deploy/cluster-manager/chart/cluster-manager/templates/bootstrap_sa_cluster_role_binding.yaml",
)
_HUB_NEWER = (
    "cluster-manager/hub/crds/*_addon.open-cluster-management.io_*.crd.yaml",
    "cluster-manager/hub/crds/*_clusters.open-cluster-management.io_*.crd.yaml",
    "cluster-manager/hub/addon-manager/clusterrole*.yaml",
    "cluster-manager/hub/addon-manager/serviceaccount.yaml",
    "cluster-manager/hub/addon-manager/work-executor-admin-clusterrolebinding.yaml",
    "cluster-manager/hub/placement/*.yaml",
)
_SITE = (
    "klusterlet/managed/0000_*.crd.yaml",
    "klusterlet/managed/klusterlet-registration-clusterrole*.yaml",
    "klusterlet/managed/klusterlet-work-clusterrole.yaml",
    "klusterlet/managed/klusterlet-work-clusterrole-execution.yaml",
    "klusterlet/managed/klusterlet-work-clusterrolebinding.yaml",
    "klusterlet/managed/klusterlet-work-clusterrolebinding-aggregate.yaml",
    "klusterlet/managed/klusterlet-work-clusterrolebinding-execution-admin.yaml",
    "klusterlet/managed/klusterlet-*-serviceaccount.yaml",
    "klusterlet/management/klusterlet-role-extension-apiserver.yaml",
    "klusterlet/management/klusterlet-*-role.yaml",
    "klusterlet/management/klusterlet-*-rolebinding*.yaml",
)


@dataclass(frozen=True)
class Manifests:
    """The objects for a hub and for a site."""

    go: golang.Go
    renderer: Path

    def hub(self, webhooks: str, authority: bytes) -> list[Object]:
        """Objects of the hub, whose API server finds the webhooks at the URL, by the certificate of the authority."""
        files = [*self._files(OCM.source, _HUB), *self._files(OCM_HUB.source, _HUB_NEWER)]
        objects = [_namespace(BASE_SPACE), _namespace(HUB_SPACE), *self._render(files)]
        for item in objects:
            for webhook in item.get("webhooks", ()):
                # a Service would need a pod behind it
                path = webhook["clientConfig"]["service"]["path"]
                bundle = base64.b64encode(authority).decode()
                webhook["clientConfig"] = {"url": f"{webhooks}{path}", "caBundle": bundle}
        return objects

    def site(self) -> list[Object]:
        """Objects of a site."""
        # What the operator makes without a file: further rights of works are those of the roles with this label.
        rights = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": f"open-cluster-management:{VALUES['KlusterletName']}-work:aggregate"},
            "aggregationRule": {
                "clusterRoleSelectors": [{"matchLabels": {"open-cluster-management.io/aggregate-to-work": "true"}}]
            },
        }
        rendered = self._render(self._files(OCM.source, _SITE))
        return [_namespace(AGENT_SPACE), _namespace(ADDON_SPACE), _labelled(rights), *rendered]

    def _files(self, source: Path, patterns: Iterable[str]) -> Iterator[Path]:
        folder = golang.module_folder(self.go, source, MODULE) / "manifests"
        for pattern in patterns:
            found = sorted(folder.glob(pattern))
            assert found, f"{folder} has no {pattern}"
            yield from found

    def _render(self, files: Iterable[Path]) -> list[Object]:
        answer = run([self.renderer, json.dumps(VALUES), *files])
        objects: list[Object] = json.loads(answer.stdout)
        for item in objects:
            if item["kind"] == "ServiceAccount":
                # only the operator knows what to do with the annotation that the template has
                item["metadata"].pop("annotations", None)
            if item["kind"] == "CustomResourceDefinition":
                # converting between versions needs a second webhook server, whose ports are those of the first
                item["spec"].pop("conversion", None)
        return [_labelled(item) for item in objects]


def _namespace(name: str) -> Object:
    return _labelled({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


def _labelled(item: Object) -> Object:
    item["metadata"]["labels"] = {**(item["metadata"].get("labels") or {}), LABEL: "ocm"}
    return item
