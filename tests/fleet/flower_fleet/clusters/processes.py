# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The processes of one cluster, for the supervisor."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..settings import HERE, Cluster


def processes(folder: Path, cluster: Cluster, binaries: Path, apiserver_args: Sequence[str]) -> list[dict[str, Any]]:
    """Name, command line and extra environment of every process of ``cluster``; the order is the order of start.

    Each waits itself for what it needs, so all start at once.
    """
    pki = folder / "pki"

    def client(name: str) -> list[str]:
        file = f"{pki}/{name}.kubeconfig"
        return [
            f"--kubeconfig={file}",
            f"--authentication-kubeconfig={file}",
            f"--authorization-kubeconfig={file}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
        ]

    def own(module: str) -> list[str]:
        words = [str(folder), cluster.name, str(cluster.subnet)]
        return [sys.executable, "-m", f"flower_fleet.clusters.{module}", *words]

    peers = "http://127.0.0.1:2380"
    commands: dict[str, list[str]] = {
        # data on a temporary file system: a cluster lives as long as its namespaces
        "etcd": [
            f"{binaries}/etcd",
            f"--data-dir={folder}/etcd",
            "--unsafe-no-fsync",
            "--listen-client-urls=http://127.0.0.1:2379",
            "--advertise-client-urls=http://127.0.0.1:2379",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
        ],
        "apiserver": [
            f"{binaries}/kube-apiserver",
            "--etcd-servers=http://127.0.0.1:2379",
            "--bind-address=0.0.0.0",
            "--secure-port=6443",
            f"--advertise-address={cluster.address}",
            f"--client-ca-file={pki}/ca.crt",
            f"--tls-cert-file={pki}/apiserver.crt",
            f"--tls-private-key-file={pki}/apiserver.key",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={pki}/sa.pub",
            f"--service-account-signing-key-file={pki}/sa.key",
            f"--service-cluster-ip-range={cluster.services}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true",
            f"--kubelet-client-certificate={pki}/apiserver-kubelet-client.crt",
            f"--kubelet-client-key={pki}/apiserver-kubelet-client.key",
            f"--kubelet-certificate-authority={pki}/ca.crt",
            "--kubelet-preferred-address-types=InternalIP",
            # aggregated API servers (metrics and others): later add-ons need them
            f"--requestheader-client-ca-file={pki}/front-proxy-ca.crt",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={pki}/front-proxy-client.crt",
            f"--proxy-client-key-file={pki}/front-proxy-client.key",
            "--enable-aggregator-routing=true",
            *apiserver_args,
        ],
        "controller-manager": [
            f"{binaries}/kube-controller-manager",
            *client("controller-manager"),
            f"--client-ca-file={pki}/ca.crt",
            f"--root-ca-file={pki}/ca.crt",
            f"--service-account-private-key-file={pki}/sa.key",
            "--use-service-account-credentials=true",
            f"--cluster-signing-cert-file={pki}/ca.crt",
            f"--cluster-signing-key-file={pki}/ca.key",
            f"--cluster-cidr={cluster.pods}",
            f"--service-cluster-ip-range={cluster.services}",
        ],
        "scheduler": [f"{binaries}/kube-scheduler", *client("scheduler")],
        "containerd": ["containerd", f"--config={folder}/containerd.toml"],
        "kubelet": [
            f"{binaries}/kubelet",
            f"--config={folder}/kubelet.json",
            f"--kubeconfig={pki}/kubelet.kubeconfig",
            f"--node-ip={cluster.address}",
            f"--hostname-override={cluster.name}",
            f"--node-labels=topology.kubernetes.io/region={cluster.region}",
        ],
        "proxy": [f"{binaries}/kube-proxy", f"--config={folder}/proxy.json", f"--hostname-override={cluster.name}"],
        "agent": own("agent"),
        "provisioner": own("volumes"),
    }
    path = os.pathsep.join((str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])))
    python = {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    extra = {"agent": python, "provisioner": python}
    return [{"name": name, "argv": argv, "env": extra.get(name, {})} for name, argv in commands.items()]
