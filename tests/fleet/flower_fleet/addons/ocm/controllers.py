# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Command lines of Open Cluster Management's controllers and agents, each with its own service account."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...clusters.api import Api
from ...clusters.group import Group
from ...settings import HERE, Cluster
from . import manifests

YEAR = 365 * 24 * 3600
GROUP_NAME = "ocm"
WEBHOOK_ACCOUNT = "registration-webhook-sa"
# Seconds between checks of a work's objects. The agents' own default is 10, their operator's 60.
STATUS_SYNC = 5


@dataclass(frozen=True)
class Programs:
    """Folders with the programs of the two releases."""

    ocm: Path
    hub: Path


def group(state: Path, cluster: Cluster) -> Group:
    """The processes of Open Cluster Management in a cluster."""
    return Group(GROUP_NAME, cluster, state)


def account(state: Path, cluster: Cluster, space: str, name: str) -> Path:
    """Kubeconfig of a service account of the cluster, made if there is none yet."""
    from ...clusters import pki  # needs cryptography, which ``fleet up`` installs if it is missing

    path = group(state, cluster).folder / f"{name}.kubeconfig"
    if not path.exists():
        private = state / cluster.name / "pki"
        path.parent.mkdir(exist_ok=True)
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": YEAR},
        }
        where = f"/api/v1/namespaces/{space}/serviceaccounts/{name}/token"
        token = Api(cluster, private).request("POST", where, body)["status"]["token"]
        entry = pki.kubeconfig_entry(cluster, (private / "ca.crt").read_bytes(), {"token": token})
        pki.write_private(path, pki.kubeconfig([entry]))
    return path


def webhook_authority(state: Path, hub: Cluster) -> bytes:
    """Certificate of the authority that the webhook server's certificate comes from; both are made if there are none."""
    from ...clusters import pki  # as above

    folder = _webhook_folder(state, hub)
    if not (folder / "tls.key").exists():
        folder.mkdir(parents=True, exist_ok=True)
        names = pki.addresses("127.0.0.1")
        pki.Authority.create(folder, "ca", "fleet-ocm-webhooks").issue("tls", "webhooks", pki.SERVER, names=names)
    return (folder / "ca.crt").read_bytes()


def _webhook_folder(state: Path, hub: Cluster) -> Path:
    return group(state, hub).folder / "webhooks"


def hub_entries(programs: Programs, state: Path, hub: Cluster) -> list[dict[str, Any]]:
    """Processes of the hub."""

    def controller(port: int, name: str, *command: object) -> list[str]:
        file = account(state, hub, manifests.HUB_SPACE, name)
        return [*map(str, command), *_controller(file, manifests.HUB_SPACE, port)]

    work = controller(18101, "work-controller-sa", programs.ocm / "work", "manager")
    webhooks = account(state, hub, manifests.HUB_SPACE, WEBHOOK_ACCOUNT)
    return _entries(
        state,
        hub,
        {
            "ocm-registration": controller(
                18102,
                "registration-controller-sa",
                programs.ocm / "registration",
                "controller",
                # as later releases do by default: a cluster that is deleted takes its works and add-ons with it
                "--feature-gates=ResourceCleanup=true",
            ),
            "ocm-webhooks": [
                f"{programs.ocm}/registration",
                "webhook-server",
                f"--port={manifests.WEBHOOK_PORT}",
                f"--certdir={_webhook_folder(state, hub)}",
                f"--kubeconfig={webhooks}",
                "--feature-gates=DefaultClusterSet=true",
            ],
            "ocm-placement": controller(18103, "placement-controller-sa", programs.hub / "placement", "controller"),
            "ocm-addon": controller(18104, "addon-manager-controller-sa", programs.hub / "addon", "manager"),
            # starts and stops the work manager by the feature gate
            "ocm-gates": [
                sys.executable,
                "-m",
                "flower_fleet.addons.ocm.gates",
                str(state / hub.name),
                hub.name,
                str(hub.subnet),
                *work,
            ],
        },
    )


def site_entries(programs: Programs, state: Path, hub: Cluster, site: Cluster) -> list[dict[str, Any]]:
    """Processes of a site."""
    kubeconfig = hub_kubeconfig(state, hub, site)

    def agent(port: int, name: str, program: str, *more: str) -> list[str]:
        file = account(state, site, manifests.AGENT_SPACE, name)
        identity = [f"--spoke-cluster-name={site.name}", "--agent-id=fleet"]
        return [f"{programs.ocm}/{program}", "agent", *_controller(file, manifests.AGENT_SPACE, port), *identity, *more]

    bootstrap = account(state, hub, manifests.BASE_SPACE, manifests.BOOTSTRAP_ACCOUNT)
    return _entries(
        state,
        site,
        {
            "ocm-registration-agent": agent(
                18111,
                manifests.REGISTRATION_ACCOUNT,
                "registration",
                f"--bootstrap-kubeconfig={bootstrap}",
                f"--hub-kubeconfig-dir={kubeconfig.parent}",
                f"--spoke-external-server-urls={site.server}",
            ),
            # as the pod, which waits for the Secret that it mounts
            "ocm-work-agent": [
                "sh",
                "-c",
                'until [ -s "$0" ]; do sleep 0.5; done; exec "$@"',
                str(kubeconfig),
                *agent(
                    18112,
                    manifests.WORK_ACCOUNT,
                    "work",
                    "--workload-source-driver=kube",
                    f"--workload-source-config={kubeconfig}",
                    f"--terminate-on-files={kubeconfig}",
                    f"--status-sync-interval={STATUS_SYNC}s",
                ),
            ],
        },
    )


def hub_kubeconfig(state: Path, hub: Cluster, site: Cluster) -> Path:
    """Where the site's agent keeps its access to this hub, and to no later one of its name."""
    identity = hashlib.sha256((state / hub.name / "pki/ca.crt").read_bytes()).hexdigest()[:8]
    return group(state, site).folder / f"hub-{identity}" / "kubeconfig"


def _controller(kubeconfig: Path, space: str, port: int) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig}",
        f"--namespace={space}",
        f"--listen=127.0.0.1:{port}",
        # there is only one of each, and its end must not hold up the next one
        "--disable-leader-election",
    ]


def _entries(state: Path, cluster: Cluster, commands: dict[str, Sequence[str]]) -> list[dict[str, Any]]:
    temporary = group(state, cluster).folder / "tmp"
    temporary.mkdir(parents=True, exist_ok=True)
    env = {
        # they write their certificates there
        "TMPDIR": str(temporary),
        # in a pod the API server provides it
        "POD_NAMESPACE": manifests.HUB_SPACE if cluster.name == "hub" else manifests.AGENT_SPACE,
        "PYTHONPATH": str(HERE.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return [{"name": name, "argv": [*argv], "env": env} for name, argv in commands.items()]
