# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is installed of Skupper in a cluster, before its controller is installed there."""

from __future__ import annotations

from typing import Any

from ..kube.api_errors import NotServed
from ..kube.client import Cluster
from ..manifests.skupper import API
from ..spec.network_spec import NetworkSiteSpec
from . import controller

Object = dict[str, Any]

_APPS = "apps/v1"
_DEFINITIONS = "apiextensions.k8s.io/v1"


def deployment(cluster: Cluster, namespace: str) -> Object | None:
    """The controller in a namespace."""
    return cluster.get(_APPS, "Deployment", controller.NAME, namespace)


def subscriptions(cluster: Cluster, namespace: str | None) -> list[Object]:
    """Subscriptions to the operator, in a namespace or in all.

    Raises:
        NotServed: the cluster has no Operator Lifecycle Manager.
    """
    found = cluster.list(controller.OPERATORS, "Subscription", namespace)
    return [one for one in found if (one.get("spec") or {}).get("name") == controller.PACKAGE]


def fault(cluster: Cluster, spec: NetworkSiteSpec) -> str:
    """Why the controller must not be installed, a sentence without its full stop; empty if it may, exists where it belongs, or is not wanted.

    Args:
        cluster: a connection.
        spec: the Site's specification.
    """
    home = controller.home(spec)
    if spec.install == "none":
        return ""
    if spec.install == "manifests" and deployment(cluster, home) is not None:
        return ""
    if spec.install == "operator":
        try:
            found = subscriptions(cluster, home) or subscriptions(cluster, None)
        except NotServed as error:
            return (
                f"the cluster {cluster.name} has no Operator Lifecycle Manager ({error.text}): skupper_site_install: operator is for OpenShift; "
                "elsewhere use manifests"
            )
        places = sorted({one["metadata"]["namespace"] for one in found} - {home})
        if places:
            return (
                f"the cluster {cluster.name} has a Subscription to {controller.PACKAGE} in namespace {', '.join(places)} already, and a second "
                f"operator would serve the same Sites. Set skupper_site_operator_namespace to {places[0]}, or skupper_site_install to none"
            )
        if found:
            return ""
    why = controller.strange(
        spec,
        cluster.get(_DEFINITIONS, "CustomResourceDefinition", controller.DEFINITION),
        cluster.list(_APPS, "Deployment", fields=f"metadata.name={controller.NAME}"),
        _sites(cluster),
    )
    return f"the cluster {cluster.name}: {why}" if why else ""


def _sites(cluster: Cluster) -> list[Object]:
    try:
        return cluster.list(API, "Site")
    except NotServed:
        return []
