# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a cluster has of Skupper: its controller, its objects, and the certificates of the hub's Site. Nothing is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.secret_data import entries
from ..base.values import Object, text
from ..kube.api_errors import NotServed
from ..kube.client import Cluster
from ..manifests import skupper
from ..manifests.skupper import API
from ..spec.network_spec import NetworkSiteSpec
from . import controller, rotation_plan, site_plan, state
from .ownership import is_ours

LiveObject = dict[str, Any]

_APPS = "apps/v1"
_DEFINITIONS = "apiextensions.k8s.io/v1"


def deployment(cluster: Cluster, namespace: str) -> LiveObject | None:
    """The controller in a namespace."""
    return cluster.get(_APPS, "Deployment", controller.NAME, namespace)


def subscriptions(cluster: Cluster, namespace: str | None) -> list[LiveObject]:
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


def _sites(cluster: Cluster) -> list[LiveObject]:
    try:
        return cluster.list(API, "Site")
    except NotServed:
        return []


def listed(cluster: Cluster, kind: str, namespace: str) -> list[Object]:
    """All objects of one of Skupper's kinds; none where the kind is not served."""
    try:
        return cluster.list(skupper.API, kind, namespace)
    except NotServed:
        return []


def ca_name(site: Mapping[str, Any] | None) -> str:
    """Name of the Secret with the CA of a Site."""
    return text(state.status(site).get("defaultIssuer")) or skupper.SITE_CA


def read(cluster: Cluster, namespace: str) -> rotation_plan.Hub:
    """The certificates of the Site of a hub; empty where there is none."""
    found = site_plan.active(listed(cluster, "Site", namespace))
    if found is None:
        return rotation_plan.Hub()
    there = {one["metadata"]["name"]: one for one in cluster.list("v1", "Secret", namespace)}
    ca = entries(there.get(ca_name(found)))
    links = {}
    for one in listed(cluster, "Certificate", namespace):
        site = (one["metadata"].get("labels") or {}).get(skupper.SITE_LABEL)
        made = entries(there.get(one["metadata"]["name"])).get("tls.crt")
        if site and made and is_ours(one):
            links[site] = made
    return rotation_plan.Hub(ca.get("tls.crt", ""), entries(there.get(skupper.SITE_SERVER)), links)
