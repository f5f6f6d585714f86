# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names, ports, paths and choices on which several parts of the collection agree.

Existing federations have objects with these names: a changed one leaves the old object behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

# The hub: workloads, which their containers and their label app.kubernetes.io/name are called after, pods, and the claim of the database.
SUPERLINK = "superlink"
SUPERLINK_POD = f"{SUPERLINK}-0"
SUPERLINK_SERVICE = "superlink"
DATABASE_CLAIM = f"data-{SUPERLINK_POD}"  # which the StatefulSet controller creates
SERVERAPP = "serverapp"
SERVERAPP_POD = f"{SERVERAPP}-0"  # where outputs are kept
GATEWAY = "gateway"  # a container
OUTPUTS_READER = "outputs"  # a container
OUTPUTS_S3 = "outputs-s3"  # a container
OUTPUTS_S3_PLACE = "FLOWER_OUTPUTS_S3"  # in its environment: s3://BUCKET/PREFIX
OUTPUTS_ROOT = "/outputs"
OUTPUTS_POD_ANNOTATION = "federated.flower/outputs"  # of the SuperLink's pod: the pod with the reader

# Secrets of the hub.
GATEWAY_SECRET = "superlink-gateway-tls"
GATEWAY_VOLUME = "gw-certs"
GATEWAY_NEXT_SECRET = "superlink-gateway-next-tls"  # serves beside the other one while the CA changes
GATEWAY_NEXT_VOLUME = "gw-next"
INTERNAL_SECRET = "superlink-internal"
RUNTIME_SECRET = "superlink-runtime-tls"
SUPERLINK_SUPEREXEC_SECRET = "superlink-superexec"
TRACKING_SECRET = "superlink-tracking"
# Secrets in the namespace of the CA keys.
CA_SECRET = "flower-ca"
INTERNAL_CA_SECRET = "flower-internal-ca"
CLIENT_CA_SECRET = "flower-client-ca"
CA_SECRETS = (CA_SECRET, INTERNAL_CA_SECRET, CLIENT_CA_SECRET)

# ConfigMaps of the hub.
FEDERATION_CONFIG = "flower-federation"  # what sites must know of it
CLIENTS_CONFIG = "superlink-clients"  # keys and client certificates that the gateway accepts
CA_NAMESPACE_ANNOTATION = "federated.flower/ca-namespace"  # of CLIENTS_CONFIG
LEDGER_CONFIG = "flower-ledger"
LEDGER_DATASETS_CONFIG = "flower-datasets"
LEDGER_NODES_CONFIG = "flower-packages"
LEDGER_ACCEPTANCE_CONFIG = "flower-acceptance"  # the result of the last acceptance of each site, see state/site_indexes.py
LEDGER_DEPLOYED_CONFIG = "flower-deployed"  # the last deployment of each site
LEDGER_BACKUP_CONFIG = "flower-backup"
AUDIT_CONFIG = "flower-audit"
AUDIT_COMPONENT = "audit"  # label app.kubernetes.io/component
UPGRADE_CONFIG = "flower-upgrade"
STANDBY_CONFIG = "flower-standby"
RESTORE_CONFIG = "flower-restore"
# A training on a calendar: label app.kubernetes.io/name of its objects, with its own name the name of each; the set of all of them; annotations, of
# its pods its name, of its CronJob the name and version of its app.
SCHEDULE = "flower-schedule"
SCHEDULES_SET = "schedules"
SCHEDULE_ANNOTATION = "federated.flower/schedule"
SCHEDULED_APP_ANNOTATION = "federated.flower/app"

# A site.
SUPERNODE = "supernode"
SUPEREXEC = "superexec"  # a container
TUNNEL = "tunnel"  # a container
TUNNEL_VOLUMES = ("tunnel-run", "tunnel-conf", "http-proxy")
RUNTIME_CA_VOLUME, RUNTIME_CA_DIR = "runtime-ca", "/runtime-ca"  # in the pod of ClientApps
TUNNEL_CONFIG = "supernode-tunnel"
TUNNEL_PROGRAM = "/etc/tunnel/tunnel.sh"
TRUST_CONFIG = "supernode-trust"
CLIENT_CONFIG = "supernode-client"  # the client certificate
SUPEREXEC_SECRET = "supernode-superexec"
LOCAL_TLS_SECRET = "supernode-local-tls"
PROXY_SECRET = "supernode-http-proxy"
PROXY_MARK = "mark"  # entry of PROXY_SECRET that changes with the others, to see which of them a pod has
REPLICA_SET_PREFIX, REPLICA_SET_DIGITS = "clientapp-", 10  # of ManifestWorkReplicaSets: a digest follows
KEY_JOB = "supernode-keys"
KEY_JOB_OWNER = "supernode-keys-owner"

SKUPPER_ROUTER = {"application": "skupper-router", "skupper.io/component": "router"}  # labels of its pods
SKUPPER_LEASE = "skupper-site-leader"  # of every Site's routers

# Folders of HAProxy's container, at the hub and at sites.
HAPROXY_CONFIG_DIR = "/etc/gw"
HAPROXY_RUN_DIR = "/run/gw"

SUPERLINK_PORT = 8000  # SuperLink itself, on 127.0.0.1 of its pod only
RUNTIME_PORT = 9091  # the gateway's port for the ServerApp, inside the hub cluster
FLEET_PORT = 9092  # the gateway's port for sites
METRICS_CONTROL_PORT = 9093  # the gateway's port for the exporter of metrics, inside the hub cluster
NODE_RUNTIME_PORT = 9094  # SuperNode's Runtime API, on 127.0.0.1 of its pod only
NODE_LISTENER_PORT = 9095  # the sidecar's port for a ClientApp in another pod, inside the site
SIDECAR_PORT = 9443  # the sidecar's loopback port, on 127.0.0.1 of the SuperNode's pod only
TUNNEL_PORT = 9444  # the tunnel through an HTTP proxy, on 127.0.0.1 of the SuperNode's pod only
OPS_PORT = 8404  # HAProxy: /live, /ready, /metrics
METRICS_PORT = 8405  # the exporter's metrics of the federation
HEALTH_PORT = 8990  # gRPC health of SuperLink and SuperNode
SUPEREXEC_HEALTH_PORT = 8991  # gRPC health of a SuperExec
# Where API servers listen: behind a Service, by kubeadm and OpenShift, MicroK8s, minikube.
API_PORTS = (443, 6443, 16443, 8443)

# Address of a hub whose objects do not exist. A port that no hub has: what sites have for it differs from all that is there, so that a plan
# contains it.
UNKNOWN_ADDRESS = "not-known-yet.invalid:65535"

# How objects reach a site, flower_delivery; sites/registry.py has what is known of each.
DIRECT, OCM, BUNDLE = "direct", "ocm", "bundle"
# Who decides which clusters get new ClientApps at a time, supernode_clientapp_pace: the play, or Open Cluster Management.
PLAY_PACE, OCM_PACE = "play", "ocm"
# Where the gateway's certificate comes from, superlink_certificates_source.
BUILTIN, CERT_MANAGER, EXISTING = "builtin", "cert_manager", "existing"

DATASETS_ROOT = "/data"
DATASET_VOLUME_PREFIX = "dataset-"  # of names of volumes


class SiteAccess(NamedTuple):
    """How a site is reached; C(sites/registry.py) reads it from its variables.

    Attributes:
        delivery: how objects reach it, one of those above.
        key_source: where its keys are created.
        connectivity: how its SuperNodes reach the SuperLink.
    """

    delivery: str
    key_source: str
    connectivity: str


def dataset_path(name: str) -> str:
    """Where apps find a dataset."""
    return f"{DATASETS_ROOT}/{name}"


def mounted_datasets(workload: Mapping[str, Any]) -> list[str]:
    """Names of the datasets that a workload's containers mount."""
    pod = ((workload.get("spec") or {}).get("template") or {}).get("spec") or {}
    found = {
        each["name"][len(DATASET_VOLUME_PREFIX) :]
        for container in pod.get("containers") or []
        for each in container.get("volumeMounts") or []
        if each["name"].startswith(DATASET_VOLUME_PREFIX) and each.get("mountPath") == dataset_path(each["name"][len(DATASET_VOLUME_PREFIX) :])
    }
    return sorted(found)
