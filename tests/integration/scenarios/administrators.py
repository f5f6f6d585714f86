# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The administrators of a site that gives no access, who get bundles and send replies."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.sites import bundle_files
from ansible_collections.federated.flower.tests.integration.scenarios.kubectl import Kubectl
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

CONTEXT = "site-b"  # the cluster of the site, which only its administrators reach


class Administrators:
    """Those of the site: they have kubectl, a shell, and the folder that they were sent.

    Args:
        fed: the federation; of it they use the kubeconfig alone.
        folder: what they keep, with the folder C(bundles) into which the bundles are written.
        site: name of the site in the inventory.
        namespace: of its SuperNodes.
    """

    def __init__(self, fed: Any, folder: Path, site: str, namespace: str) -> None:
        self.fed, self.folder, self.site, self.namespace = fed, folder, site, namespace
        self.kubectl = Kubectl(fed, CONTEXT)

    @property
    def home(self) -> Path:
        """The present version of the bundle."""
        return self.folder / "bundles" / self.site

    def verify(self, fingerprint: str, home: Path | None = None) -> tuple[int, str]:
        """Check a bundle with the script in it."""
        done = subprocess.run(["sh", "verify.sh", fingerprint], cwd=home or self.home, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def apply(self, fingerprint: str) -> str:
        """Check and apply the present version, and wait for its job; returns the version."""
        rc, words = self.verify(fingerprint)
        assert rc == 0, words
        version = words.split("bundle version ")[1].split()[0]
        self.kubectl("apply", "-k", str(self.home))
        self.kubectl("wait", "--for=condition=complete", f"job/supernode-keys-v{version}", "-n", self.namespace, "--timeout=150s")
        return version

    def reply(self, name: str) -> tuple[Path, str]:
        """The file that they send, and the fingerprint that they read out."""
        path = self.folder / name
        path.write_text(self.kubectl("get", "configmap", "supernode-public", "-n", self.namespace, "-o", "json"))
        return path, self.kubectl("get", "configmap", "supernode-public", "-n", self.namespace, "-o", "jsonpath={.data.fingerprint}")

    def uninstall(self) -> None:
        """Delete what the last version lists, with the commands that it gives."""
        for line in (self.home / "UNINSTALL.md").read_text().splitlines():
            if line.startswith("    kubectl "):
                self.kubectl(*line.split()[1:])


def told_fingerprint(fed: Any) -> str:
    """What the operator of the hub reads out: of the hub's own record, not of the bundle."""
    live = fed.hub.get("v1", "ConfigMap", "superlink-clients", NAMESPACE)
    return bundle_files.fingerprint(certificates.first(live["data"]["ca.crt"]))
