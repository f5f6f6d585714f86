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
from ..spec.network_spec import NetworkSiteSpec
from . import controller, rotation_plan, site_plan, state
from .ownership import is_ours


def listed(cluster: Cluster, kind: str, namespace: str | None) -> list[Object]:
    """All objects of one of Skupper's kinds, in a namespace or in all; none where the kind is not served."""
    try:
        return cluster.list(skupper.API, kind, namespace)
    except NotServed:
        return []


def read(cluster: Cluster, kind: str, name: str, namespace: str) -> Object | None:
    """One of Skupper's objects; None where there is none, or its kind is not served."""
    try:
        return cluster.get(skupper.API, kind, name, namespace)
    except NotServed:
        return None


def link_objects(cluster: Cluster, namespace: str, site: str) -> list[Object]:
    """The hub's objects for the link of a site, those of this collection."""
    names = {"Certificate": skupper.certificate_name(site), "AccessGrant": skupper.grant_name(site)}
    found = [read(cluster, kind, name, namespace) for kind, name in names.items()]
    return [one for one in found if one is not None and is_ours(one)]


def deployment(cluster: Cluster, namespace: str) -> Object | None:
    """The controller in a namespace."""
    return cluster.get("apps/v1", "Deployment", controller.NAME, namespace)


def subscriptions(cluster: Cluster, namespace: str | None) -> list[Object]:
    """Subscriptions to the operator, in a namespace or in all.

    Raises:
        NotServed: the cluster has no Operator Lifecycle Manager.
    """
    found = cluster.list(controller.OPERATORS, "Subscription", namespace)
    return [one for one in found if (one.get("spec") or {}).get("name") == controller.PACKAGE]


def install_error(cluster: Cluster, spec: NetworkSiteSpec) -> str:
    """Why the controller must not be installed, a sentence without its full stop; empty if it may, exists where it belongs, or is not wanted."""
    home = controller.home(spec)
    if spec.install == "none" or (spec.install == "manifests" and deployment(cluster, home) is not None):
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
    why = controller.others_error(
        spec,
        cluster.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", controller.DEFINITION),
        cluster.list("apps/v1", "Deployment", fields=f"metadata.name={controller.NAME}"),
    )
    return f"the cluster {cluster.name}: {why}" if why else ""


def ca_name(site: Mapping[str, Any] | None) -> str:
    """Name of the Secret with the CA of a Site."""
    return text(state.status(site).get("defaultIssuer")) or skupper.SITE_CA


def certificates_of(cluster: Cluster, namespace: str) -> rotation_plan.Hub:
    """The certificates of the Site of a hub; empty where there is none."""
    found = site_plan.active(listed(cluster, "Site", namespace))
    if found is None:
        return rotation_plan.Hub()
    secrets = {one["metadata"]["name"]: entries(one) for one in cluster.list("v1", "Secret", namespace)}
    links = {}
    for one in listed(cluster, "Certificate", namespace):
        site = (one["metadata"].get("labels") or {}).get(skupper.SITE_LABEL)
        issued = secrets.get(one["metadata"]["name"], {}).get("tls.crt")
        if site and issued and is_ours(one):
            links[site] = issued
    return rotation_plan.Hub(secrets.get(ca_name(found), {}).get("tls.crt", ""), secrets.get(skupper.SITE_SERVER, {}), links)
