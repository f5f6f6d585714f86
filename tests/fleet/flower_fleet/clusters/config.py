# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Configuration files of one node. JSON throughout where a program reads YAML."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..images.seed import DISABLED
from ..settings import PAUSE_IMAGE, Cluster, all_clusters

# kubelet sets these machine-wide values when they differ. The node sees files with the wanted values in their place,
# so it writes nothing and the machine keeps its own.
KERNEL_VALUES = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}


def containerd(folder: Path, cni_folder: Path) -> str:
    """containerd's configuration.

    restrict_oom_score_adj: without CAP_SYS_RESOURCE runc may not lower a container's oom_score_adj and dies with a
    misleading message.
    """
    disabled = ", ".join(f'"{name}"' for name in DISABLED)
    return f"""version = 2
root = "{folder}/containerd"
state = "/run/containerd"
oom_score = 0
disabled_plugins = [{disabled}]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "{folder}/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  tolerate_missing_hugetlb_controller = true
  disable_hugetlb_controller = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{cni_folder}"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
"""


def cni(cluster: Cluster) -> dict[str, Any]:
    """The pod network: one bridge on the node, masqueraded towards the other clusters."""
    return {
        "cniVersion": "0.4.0",
        "name": "fleet",
        "plugins": [
            {
                "type": "bridge",
                "bridge": "cni0",
                "isGateway": True,
                "ipMasq": True,
                "hairpinMode": True,
                "ipam": {
                    "type": "host-local",
                    "ranges": [[{"subnet": str(cluster.pods)}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }


def kubelet(folder: Path, cluster: Cluster) -> dict[str, Any]:
    """kubelet's configuration.

    Without its tree of pod control groups there is nothing that it could fight over with another kubelet; runc applies
    the containers' limits all the same. Disk pressure is off: the machine's disk is not the node's.
    """
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{folder}/pki/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": f"{folder}/pki/kubelet-server.crt",
        "tlsPrivateKeyFile": f"{folder}/pki/kubelet-server.key",
        "cgroupDriver": "cgroupfs",
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        "failCgroupV1": False,
        "clusterDNS": [cluster.dns_ip],
        "clusterDomain": "cluster.local",
        "resolvConf": f"{folder}/resolv.conf",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "failSwapOn": False,
        "localStorageCapacityIsolation": False,
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "0%",
            "imagefs.inodesFree": "0%",
        },
        "volumePluginDir": f"{folder}/volume-plugins",
        "nodeStatusUpdateFrequency": "5s",
    }


def proxy(folder: Path, cluster: Cluster) -> dict[str, Any]:
    """kube-proxy's configuration; the connection tracker's limits belong to the machine and are left alone."""
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": f"{folder}/pki/proxy.kubeconfig"},
        "clusterCIDR": str(cluster.pods),
        "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "metricsBindAddress": "127.0.0.1:10249",
        "healthzBindAddress": "127.0.0.1:10256",
    }


def hosts(cluster: Cluster) -> str:
    """Host names of every cluster that there may ever be."""
    lines = [f"{other.address} {other.hostname} {other.name}" for other in all_clusters(cluster.subnet)]
    return "127.0.0.1 localhost\n" + "\n".join(lines) + "\n"


def write(folder: Path, cluster: Cluster, cni_folder: Path) -> None:
    """Write every configuration file of the node into its state directory."""
    for name in ("cni", "fake"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "containerd.toml").write_text(containerd(folder, cni_folder))
    (folder / "cni/10-fleet.conflist").write_text(json.dumps(cni(cluster)))
    (folder / "kubelet.json").write_text(json.dumps(kubelet(folder, cluster)))
    (folder / "proxy.json").write_text(json.dumps(proxy(folder, cluster)))
    (folder / "hosts").write_text(hosts(cluster))
    (folder / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    for name, value in KERNEL_VALUES.items():
        (folder / "fake" / name.replace("/", "_")).write_text(f"{value}\n")
