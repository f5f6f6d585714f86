# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of each parameter of Flower's Helm charts: the one table, which the filters use and docs/converted_parameters.md has.

Names and defaults are those of the charts' documentation for their image tag 1.29.0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .conversion import FIXED, PATCH, VARIABLE, Row
from .conversion import refused_row as _refused

SUPERLINK = "superlink"
SUPERNODE = "supernode"

_EMPTY: Any = {}


def _variable(name: str, default: Any, *variables: str, how: str = "copy") -> Row:
    return Row(name, default, VARIABLE, variables=variables, how=how)


def _patch(name: str, default: Any, target: tuple[str, str], *path: str, how: str = "copy") -> Row:
    return Row(name, default, PATCH, target=target, path=path, how=how)


def _fixed(name: str, default: Any, only: Any, why: str) -> Row:
    return Row(name, default, FIXED, only=only, why=why)


_NAMES = "names of objects are fixed; a federation has its own namespace"
_EE = "Flower Enterprise only; this collection deploys the open images"
_LICENSE = "the open images need no licence"
_ISSUER = "the collection creates no Issuer; name an existing one with superlink_issuer"
_CERTIFICATE = "the collection chooses it for the certificate of the gateway"
_PORTS = "ports inside pods are fixed, and only the gateway is reached from outside"
_CONTROL = "Control is not published; it is reached with Kubernetes rights (exec, port-forward)"
_RUNTIME = "the Runtime API of ServerApps is not published"
_ONE_DOOR = "only the gateway is published, with one host"
_SOURCES = "name the sources in superlink_allowed_sources"
_IN_POD = "ClientApps reach their SuperNode inside the pod, and nothing else calls a SuperNode"
_SECRET_FILE = "the collection creates and mounts the shared secret of SuperExec"
_SELECTOR = "selectors cannot be changed after creation, and are how the collection finds its own pods"
_READY = "kubelet sends nothing to this container, so it has no readiness probe"
_ROLLING = "pods are replaced one at a time and never doubled: a key admits one session, a database one SuperLink"
_TOKEN = "pods get no service account token"
_ACCOUNT = "each part has its own service account"
_EDGES = "egress is limited to DNS, the peers of the pod and what is named"
_SUPERLINK_SET = ("StatefulSet", "superlink")
_SERVERAPP_SET = ("StatefulSet", "serverapp")
_SUPERNODE_SET = ("StatefulSet", "supernode-default")
_TEMPLATE = ("spec", "template", "spec")

_RUNTIME_TLS = "how SuperExecs reach the Runtime API, and its certificate, are set by the collection"
_EXECUTOR = "apps run in the pod of their SuperExec, as with the executor subprocess; no pod may create others"
#: Parameters of charts after 1.29.0, up to 1.32.1, or what contains them, and why none of them is taken over.
NEWER = {
    "superlink.appioTls": _RUNTIME_TLS,
    "superexec.rootCertificates": _RUNTIME_TLS,
    "superexec.executor": _EXECUTOR,
    "superexec.rbac": _EXECUTOR,
    "superexec.taskExecutorNetworkPolicy": _EXECUTOR,
}


def _container(name: str) -> tuple[str, ...]:
    return (*_TEMPLATE, "containers", f"name={name}")


def _probe(prefix: str, probe: str, target: tuple[str, str], container: str) -> list[Row]:
    """The six rows of a probe that the container has."""
    path = (*_container(container), probe)
    rows = [_patch(f"{prefix}.{probe}.enabled", True, target, *path, how="probe")]
    for field, default in (("initialDelaySeconds", 0), ("periodSeconds", 10), ("timeoutSeconds", 1), ("failureThreshold", 3)):
        rows.append(_patch(f"{prefix}.{probe}.{field}", default, target, *path, field, how="probe"))
    if probe == "livenessProbe":
        rows.append(_fixed(f"{prefix}.{probe}.successThreshold", 1, 1, "Kubernetes allows no other value for liveness probes"))
    else:
        rows.append(_patch(f"{prefix}.{probe}.successThreshold", 1, target, *path, "successThreshold", how="probe"))
    return rows


def _no_readiness(prefix: str) -> list[Row]:
    rows = [_fixed(f"{prefix}.readinessProbe.enabled", True, False, _READY)]
    for field, default in (
        ("initialDelaySeconds", 0), ("periodSeconds", 10), ("timeoutSeconds", 1), ("failureThreshold", 3), ("successThreshold", 1),
    ):  # fmt: skip
        rows.append(_refused(f"{prefix}.readinessProbe.{field}", default, _READY))
    return rows


def _account(prefix: str, name: str) -> list[Row]:
    account = ("ServiceAccount", name)
    return [
        _fixed(f"{prefix}.automountServiceAccountToken", True, False, _TOKEN),
        _fixed(f"{prefix}.serviceAccount.enabled", True, True, _ACCOUNT),
        _patch(f"{prefix}.serviceAccount.annotations", _EMPTY, account, "metadata", "annotations"),
        _patch(f"{prefix}.serviceAccount.labels", _EMPTY, account, "metadata", "labels"),
        _fixed(f"{prefix}.serviceAccount.automountServiceAccountToken", True, False, _TOKEN),
    ]


def _pods(prefix: str, role: str, target: tuple[str, str], *, args: str) -> list[Row]:
    """Rows that every component has."""
    name = target[1]
    return [
        _patch(f"{prefix}.labels", _EMPTY, target, "metadata", "labels"),
        _patch(f"{prefix}.annotations", _EMPTY, target, "metadata", "annotations"),
        _variable(f"{prefix}.extraArgs", [], args, how="arguments"),
        _variable(f"{prefix}.nodeSelector", _EMPTY, f"{role}_node_selector"),
        _variable(f"{prefix}.tolerations", [], f"{role}_tolerations"),
        _variable(f"{prefix}.affinity", _EMPTY, f"{role}_affinity"),
        _variable(f"{prefix}.env", [], f"{role}_env", how="env"),
        _variable(f"{prefix}.podAnnotations", _EMPTY, f"{role}_pod_annotations"),
        _variable(f"{prefix}.podLabels", _EMPTY, f"{role}_pod_labels"),
        _patch(f"{prefix}.podSecurityContext", _EMPTY, target, *_TEMPLATE, "securityContext"),
        _fixed(f"{prefix}.updateStrategy.type", "RollingUpdate", "Recreate", _ROLLING),
        _variable(f"{prefix}.updateStrategy.rollingUpdate", _EMPTY, "supernode_max_unavailable", how="rolling")
        if prefix == SUPERNODE
        else _refused(f"{prefix}.updateStrategy.rollingUpdate", _EMPTY, _ROLLING),
        _refused(f"{prefix}.selectorLabels", _EMPTY, _SELECTOR),
        _refused(f"{prefix}.name", {"superlink": "superlink", "serverapp": "superexec-serverapp"}.get(name, _exec_name(prefix)), _NAMES),
        _refused(f"{prefix}.superexecAuthSecretFile", "", _SECRET_FILE),
        _refused(f"{prefix}.containerPorts.health", 8081, _PORTS),
    ]


def _exec_name(prefix: str) -> str:
    return "supernode" if prefix == "supernode" else "superexec-clientapp"


def _image(prefix: str, repository: str, variable: str, registry: str, version: str) -> list[Row]:
    """An image: repository, tag and digest make one variable."""
    return [
        _variable(f"{prefix}.image.registry", "registry.hub.docker.com", variable, registry, how="image"),
        _variable(f"{prefix}.image.repository", repository, variable, how="image"),
        _variable(f"{prefix}.image.tag", "1.29.0-ubuntu", variable, version, how="image"),
        _variable(f"{prefix}.image.digest", "", variable, how="image"),
    ]


def _policy(prefix: str, role: str, policy: str) -> list[Row]:
    target = ("NetworkPolicy", policy)
    return [
        _variable(f"{prefix}.networkPolicy.enabled", True, f"{role}_network_policies")
        if prefix == role
        else _fixed(f"{prefix}.networkPolicy.enabled", True, True, f"{role}_network_policies is for all pods of the part, SuperExec's as well"),
        _fixed(f"{prefix}.networkPolicy.allowExternalEgress", True, False, _EDGES),
        _patch(f"{prefix}.networkPolicy.extraEgress", [], target, "spec", "egress", "-", how="rules"),
    ]


def _global(roles: tuple[str, ...], role: str) -> list[Row]:
    """Rows of both charts."""

    def each(name: str) -> tuple[str, ...]:
        return tuple(f"{one}_{name}" for one in roles)

    return [
        _refused("nameOverride", "flower-server" if role == SUPERLINK else "flower-client", _NAMES),
        _refused("fullnameOverride", "", _NAMES),
        _variable("global.annotations", _EMPTY, f"{role}_annotations"),
        _variable("global.labels", _EMPTY, f"{role}_labels"),
        _variable("global.podLabels", _EMPTY, *each("pod_labels")),
        _variable("global.nodeSelector", _EMPTY, *each("node_selector")),
        _variable("global.tolerations", [], *each("tolerations")),
        _variable("global.affinity.podAntiAffinity", "soft", "supernode_spread", how="spread")
        if role == SUPERNODE
        else _fixed("global.affinity.podAntiAffinity", "soft", "none", "there is one SuperLink pod, so there is nothing to spread"),
        _variable("global.affinity.nodeAffinity.type", "hard", *each("affinity"), how="node_affinity"),
        _variable("global.affinity.nodeAffinity.matchExpressions", [], *each("affinity"), how="node_affinity"),
        _fixed("global.nodeAuth.enabled", False, True, "SuperNodes always authenticate with keys, unless flower_insecure is set"),
        _variable("global.securityContext.runAsUser", 49999, f"{role}_run_as_user"),
        _variable("global.securityContext.runAsGroup", 49999, f"{role}_run_as_group"),
        _variable("global.securityContext.fsGroup", 49999, f"{role}_fs_group"),
        _fixed("global.podSecurityContext.runAsNonRoot", True, True, "Pod Security restricted"),
        _fixed("global.podSecurityContext.readOnlyRootFilesystem", True, True, "nothing in the images needs to be written"),
        _fixed("global.podSecurityContext.allowPrivilegeEscalation", False, False, "Pod Security restricted"),
        _fixed("global.podSecurityContext.seccompProfile.type", "RuntimeDefault", "RuntimeDefault", "Pod Security restricted"),
        _fixed("global.podSecurityContext.capabilities.drop", ["ALL"], ["ALL"], "Pod Security restricted"),
        _variable("global.env", [], *each("env"), how="env"),
        _variable("global.image.pullPolicy", "IfNotPresent", f"{role}_image_pull_policy"),
        _variable("tls.enabled", True, f"{role}_insecure", how="not"),
    ]


def _ingress(api: str, why: str) -> list[Row]:
    host = f"{api.lower()}.example.com"
    return [
        _fixed(f"superlink.ingress.{api}.enabled", False, False, why),
        _refused(f"superlink.ingress.{api}.hostname", host, why),
        _refused(f"superlink.ingress.{api}.path", "/", why),
        _refused(f"superlink.ingress.{api}.pathType", "ImplementationSpecific", why),
    ]


def _service(prefix: str, api: str, port: int, why: str) -> list[Row]:
    return [
        _refused(f"{prefix}.service.servicePort{api}Name", api.lower(), _NAMES),
        _refused(f"{prefix}.service.servicePort{api}", port, why),
        _refused(f"{prefix}.service.nodePort{api}", "", why),
        _refused(f"{prefix}.containerPorts.{api[0].lower()}{api[1:]}", port, _PORTS),
    ]


def _sources(api: str) -> list[Row]:
    why = _SOURCES if api == "fleet" else _CONTROL if api == "control" else _RUNTIME
    keys = ("ingressPodMatchLabels", "ingressNSMatchLabels", "ingressNSPodMatchLabels")
    return [_refused(f"superlink.networkPolicy.{api}.{key}", _EMPTY, why) for key in keys]


_HUB_SUPEREXEC = [
    *_pods("superexec", "superlink_serverapp", _SERVERAPP_SET, args="superlink_serverapp_extra_args"),
    _fixed("superexec.pluginType", "serverapp", "serverapp", "the plugin follows from the part"),
    _refused("superexec.superlink", _EMPTY, "the SuperExec of ServerApps belongs to the SuperLink of its federation"),
    _variable("superexec.allowRuntimeDependencyInstallation", False, "superlink_runtime_dependency_installation"),
    _variable("superexec.resources", _EMPTY, "superlink_serverapp_resources"),
    _variable("superexec.volumes", [], "superlink_serverapp_volumes"),
    _variable("superexec.volumeMounts", [], "superlink_serverapp_volume_mounts"),
    *_account("superexec", "serverapp"),
    *_probe("superexec", "livenessProbe", _SERVERAPP_SET, "superexec"),
    *_no_readiness("superexec"),
    _fixed("superexec.replicas", 1, 1, "outputs of runs are kept in the one pod of ServerApps"),
    _variable("superexec.lifecycle", _EMPTY, "superlink_serverapp_lifecycle"),
    _variable("superexec.imagePullSecrets", [], "superlink_image_pull_secrets", how="names"),
    *_image("superexec", "flwr/superexec-ee", "superlink_serverapp_image", "superlink_image_registry", "superlink_version"),
    _patch("superexec.image.pullPolicy", "Always", _SERVERAPP_SET, *_container("superexec"), "imagePullPolicy"),
    *_policy("superexec", "superlink", "serverapp"),
]

_SITE_SUPEREXEC = [
    *_pods("superexec", "supernode", _SUPERNODE_SET, args="supernode_superexec_extra_args"),
    _fixed("superexec.pluginType", "clientapp", "clientapp", "the plugin follows from the part"),
    _refused("superexec.supernode", _EMPTY, "a SuperExec is in the pod of its SuperNode"),
    _variable("superexec.resources", _EMPTY, "supernode_superexec_resources"),
    _variable("superexec.volumes", [], "supernode_volumes"),
    _variable("superexec.volumeMounts", [], "supernode_volume_mounts"),
    *_account("superexec", "supernode"),
    *_probe("superexec", "livenessProbe", _SUPERNODE_SET, "superexec"),
    *_no_readiness("superexec"),
    _fixed("superexec.replicas", 1, 1, "each SuperNode has one SuperExec, in its pod"),
    _variable("superexec.lifecycle", _EMPTY, "supernode_superexec_lifecycle"),
    _variable("superexec.imagePullSecrets", [], "supernode_image_pull_secrets", how="names"),
    *_image("superexec", "flwr/superexec-ee", "supernode_superexec_image", "supernode_image_registry", "supernode_version"),
    _patch("superexec.image.pullPolicy", "IfNotPresent", _SUPERNODE_SET, *_container("superexec"), "imagePullPolicy"),
    *_policy("superexec", "supernode", "supernode"),
]


def _for_process(rows: list[Row]) -> list[Row]:
    return [replace(row, process=True) for row in rows]


TABLE: dict[str, tuple[Row, ...]] = {
    SUPERLINK: (
        *_global(("superlink", "superlink_serverapp"), SUPERLINK),
        _variable("global.domain", "example.com", "superlink_certificate_names", how="one"),
        _variable("global.ingressClassName", "", "superlink_ingress_class"),
        *(_refused(f"global.accountAuth.{key}", default, _EE) for key, default in (("config", {}), ("existingSecret", ""))),
        _fixed("global.accountAuth.enabled", False, False, _EE),
        *(_refused(f"global.federationsConfig.{key}", default, _EE) for key, default in (("config", {}), ("existingSecret", ""))),
        _fixed("global.federationsConfig.enabled", False, False, _EE),
        _fixed("global.license.enabled", True, False, _LICENSE),
        _refused("global.license.key", "", _LICENSE),
        _refused("global.license.secretKey", "FLWR_LICENSE_KEY", _LICENSE),
        _refused("global.license.existingSecret", "", _LICENSE),
        _fixed("tls.issuer.enabled", True, False, _ISSUER),
        _refused("tls.issuer.name", "", _ISSUER),
        _refused("tls.issuer.spec", {}, _ISSUER),
        _fixed("tls.certificate.enabled", True, True, "the gateway always has a certificate, unless flower_insecure is set"),
        _refused("tls.certificate.annotations", {}, _CERTIFICATE),
        _refused("tls.certificate.secretName", "", _NAMES),
        _variable("tls.certificate.issuerGroup", "cert-manager.io", "superlink_issuer", how="issuer"),
        _variable("tls.certificate.existingIssuer", "", "superlink_certificates_source", "superlink_issuer", how="issuer"),
        _variable("tls.certificate.existingIssuerKind", "", "superlink_issuer", how="issuer"),
        _variable("tls.certificate.duration", "43800h", "superlink_certificate_days", how="days"),
        _variable("tls.certificate.renewBefore", "360h", "superlink_renew_before"),
        _refused("tls.certificate.privateKey", {}, _CERTIFICATE),
        _refused("tls.certificate.usages", [], _CERTIFICATE),
        _variable("tls.certificate.additionalHosts", [], "superlink_certificate_names"),
        _variable("tls.existingSecret", "", "superlink_certificates_source", "superlink_certificate_secret", how="existing"),
        *_pods("superlink", "superlink", _SUPERLINK_SET, args="superlink_extra_args"),
        _fixed("superlink.enabled", True, True, "a federation has a hub"),
        _variable("superlink.resources", {}, "superlink_resources"),
        _variable("superlink.volumes", [], "superlink_volumes"),
        _variable("superlink.volumeMounts", [], "superlink_volume_mounts"),
        _variable("superlink.isolationMode", "subprocess", "superlink_isolation"),
        *_account("superlink", "superlink"),
        _variable("superlink.service.type", "ClusterIP", "superlink_exposure", how="exposure"),
        *_service("superlink", "Control", 9093, _CONTROL),
        *_service("superlink", "ServerAppIo", 9091, _RUNTIME),
        _refused("superlink.service.servicePortFleetName", "fleet", _NAMES),
        _variable("superlink.service.servicePortFleet", 9092, "superlink_port"),
        _variable("superlink.service.nodePortFleet", "", "superlink_node_port"),
        _refused("superlink.containerPorts.fleet", 9092, _PORTS),
        _fixed("superlink.replicaCount", 1, 1, "a SuperLink with SQLite is one pod; autoscaling would lose runs"),
        _patch("superlink.securityContext", {}, _SUPERLINK_SET, *_container("superlink"), "securityContext"),
        *_probe("superlink", "livenessProbe", _SUPERLINK_SET, "superlink"),
        *_probe("superlink", "readinessProbe", _SUPERLINK_SET, "superlink"),
        _variable("superlink.ingress.enabled", False, "superlink_exposure", how="ingress"),
        _variable("superlink.ingress.annotations", {}, "superlink_ingress_annotations", how="ingress_annotations"),
        _variable("superlink.ingress.ingressClassName", "", "superlink_ingress_class"),
        _fixed("superlink.ingress.tls.enabled", False, True, "the ingress passes TLS through to the gateway"),
        _refused("superlink.ingress.tls.secretName", "", "the ingress passes TLS through to the gateway, which has the certificate"),
        *_ingress("control", _CONTROL),
        _variable("superlink.ingress.fleet.enabled", False, "superlink_exposure", how="ingress"),
        _variable("superlink.ingress.fleet.hostname", "fleet.example.com", "superlink_host"),
        _fixed("superlink.ingress.fleet.path", "/", "/", "TLS is passed through, so the ingress sees no path"),
        _refused("superlink.ingress.fleet.pathType", "ImplementationSpecific", "TLS is passed through, so the ingress sees no path"),
        *_ingress("serverAppIo", _RUNTIME),
        *(_refused(f"superlink.ingress.{key}", [], _ONE_DOOR) for key in ("extraHosts", "extraTls", "extraRules")),
        _variable("superlink.lifecycle", {}, "superlink_lifecycle"),
        _variable("superlink.imagePullSecrets", [], "superlink_image_pull_secrets", how="names"),
        *_image("superlink", "flwr/superlink-ee", "superlink_image", "superlink_image_registry", "superlink_version"),
        _variable("superlink.image.pullPolicy", "IfNotPresent", "superlink_image_pull_policy"),
        *_policy("superlink", "superlink", "superlink"),
        _fixed("superlink.networkPolicy.allowExternal", True, True, f"any source reaches the port for sites; {_SOURCES}"),
        _patch("superlink.networkPolicy.extraIngress", [], ("NetworkPolicy", "superlink"), "spec", "ingress", "-", how="rules"),
        *_sources("serverAppIo"),
        *_sources("fleet"),
        *_sources("control"),
        _variable("superexec.enabled", False, "superlink_isolation", how="superexec"),
        *_for_process(_HUB_SUPEREXEC),
        _fixed("openfga.enabled", False, False, _EE),
    ),
    SUPERNODE: (
        *_global(("supernode",), SUPERNODE),
        _refused("global.nodeAuth.authSupernodePrivateKey", "", "a key is never read from a values file; each SuperNode gets its own key"),
        *_pods("supernode", "supernode", _SUPERNODE_SET, args="supernode_extra_args"),
        _fixed("supernode.enabled", True, True, "a site has SuperNodes"),
        _variable("supernode.resources", {}, "supernode_resources"),
        _variable("supernode.node.config", {}, "supernode_pools", how="node_config"),
        _variable("supernode.isolationMode", "subprocess", "supernode_isolation"),
        _variable("supernode.superlink.address", "my-superlink.example.com", "supernode_superlink_address", how="address"),
        _variable("supernode.superlink.port", 9092, "supernode_superlink_address", how="address"),
        _refused("supernode.superlink.certificate.existingSecret", "", "CA certificates come from the hub; name others in supernode_ca_bundle"),
        _fixed("supernode.superlink.certificate.copyFromExistingSecret.enabled", False, False, "CA certificates come from the hub"),
        _refused("supernode.superlink.certificate.copyFromExistingSecret.secretName", "", "CA certificates come from the hub"),
        _variable("supernode.volumes", [], "supernode_volumes"),
        _variable("supernode.volumeMounts", [], "supernode_volume_mounts"),
        *_account("supernode", "supernode"),
        _refused("supernode.service.type", "ClusterIP", _IN_POD),
        *_service("supernode", "ClientAppIo", 9094, _IN_POD),
        _variable("supernode.replicas", 1, "supernode_pools", how="replicas"),
        *_probe("supernode", "livenessProbe", _SUPERNODE_SET, "supernode"),
        *_no_readiness("supernode"),
        _variable("supernode.lifecycle", {}, "supernode_lifecycle"),
        _variable("supernode.imagePullSecrets", [], "supernode_image_pull_secrets", how="names"),
        *_image("supernode", "flwr/supernode-ee", "supernode_image", "supernode_image_registry", "supernode_version"),
        _variable("supernode.image.pullPolicy", "IfNotPresent", "supernode_image_pull_policy"),
        *_policy("supernode", "supernode", "supernode"),
        _fixed("supernode.networkPolicy.allowExternal", True, False, _IN_POD),
        _patch("supernode.networkPolicy.extraIngress", [], ("NetworkPolicy", "supernode"), "spec", "ingress", how="rules"),
        *(
            _refused(f"supernode.networkPolicy.{key}", {}, _IN_POD)
            for key in ("ingressPodMatchLabels", "ingressNSMatchLabels", "ingressNSPodMatchLabels")
        ),
        _variable("superexec.enabled", False, "supernode_isolation", how="superexec"),
        *_for_process(_SITE_SUPEREXEC),
    ),
}
