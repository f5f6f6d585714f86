# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports inside pods and Services."""

from __future__ import annotations

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
