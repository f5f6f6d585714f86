# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of the objects of a deployment that are read apart from where they are rendered or written.

Existing federations have objects with these names: a changed one leaves the old object behind.
"""

from __future__ import annotations

# The hub: workloads, which their containers and their label app.kubernetes.io/name are called after, pods, and the claim of the database.
SUPERLINK = "superlink"
SUPERLINK_POD = f"{SUPERLINK}-0"
SUPERLINK_SERVICE = "superlink"
DATABASE_CLAIM = f"data-{SUPERLINK_POD}"  # which the StatefulSet controller creates
SERVERAPP = "serverapp"
SERVERAPP_POD = f"{SERVERAPP}-0"  # where outputs are kept
GATEWAY = "gateway"  # a container
OUTPUTS_READER = "outputs"  # a container
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
LEDGER_ACCEPTANCE_CONFIG = "flower-acceptance"  # the result of the last acceptance of each site, see ledger/site_index.py
LEDGER_DEPLOYED_CONFIG = "flower-deployed"  # the last deployment of each site
LEDGER_BACKUP_CONFIG = "flower-backup"
AUDIT_CONFIG = "flower-audit"
AUDIT_COMPONENT = "audit"  # label app.kubernetes.io/component
UPGRADE_CONFIG = "flower-upgrade"
STANDBY_CONFIG = "flower-standby"
RESTORE_CONFIG = "flower-restore"

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
