# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flux on the hub (fleet addon flux), as the guide on GitOps sets it up: a repository of a real Git server, and a Kustomization for each cluster.

Flux runs on the hub alone. It applies to the sites with a kubeconfig.
"""

from __future__ import annotations

import re
import subprocess
import textwrap
import uuid
from pathlib import Path
from urllib.parse import urlsplit

import yaml

FLUX = "kustomize-controller"
GUIDE = Path(__file__).parents[3] / "docs" / "docsite" / "rst" / "guide_gitops.rst"
SPACE = "flux-system"
GIT_PORT = 8418
REQUEST = "reconcile.fluxcd.io/requestedAt"


class Flux:
    """The checkout of the repository, and Flux's objects."""

    def __init__(self, hub, kubeconfig, folder):
        self.hub = hub
        self.kubeconfig = yaml.safe_load(kubeconfig.read_text())
        self.checkout = folder / "fleet"
        self.rendered = {}  # host -> kind and name -> object, of all commits
        server = next(one["cluster"]["server"] for one in self.kubeconfig["clusters"] if one["name"] == "hub")
        self.url = f"http://{urlsplit(server).hostname}:{GIT_PORT}/fleet.git"
        self.git("clone", "--quiet", self.url, str(self.checkout), cwd=folder)

    def git(self, *words, cwd=None):
        """Run git in the checkout; what it printed."""
        settings = ("http.proxy=", "user.name=scenario", "user.email=scenario@flower.internal")
        command = ["git", *(word for setting in settings for word in ("-c", setting)), *words]
        return subprocess.run(command, cwd=cwd or self.checkout, check=True, capture_output=True, text=True).stdout.strip()

    def push(self, subject):
        """Commit what was rendered, and push it; the revision as Flux writes it."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", subject)
        self.git("push", "--quiet", "origin", "HEAD:main")
        return f"main@sha1:{self.git('rev-parse', 'HEAD')}"

    def set_up(self, *hosts):
        """Apply the objects of the guide, with a Kustomization for each host."""
        source, sync = shown()
        source["spec"]["url"] = self.url
        self.hub.apply(source)
        for host in hosts:
            mine = yaml.safe_load(yaml.safe_dump(sync).replace("site-a", host))
            if host == "hub":
                del mine["spec"]["kubeConfig"]
            else:
                self.hub.apply(self._access(host))
            self.hub.apply(mine)

    def _access(self, host):
        parts = {part: [one for one in self.kubeconfig[part] if one["name"] == host] for part in ("clusters", "contexts", "users")}
        text = yaml.safe_dump({**self.kubeconfig, **parts, "current-context": host})
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": host, "namespace": SPACE}, "stringData": {"value": text}}

    def kustomization(self, host):
        """The Kustomization of a host."""
        return self.hub.get("kustomize.toolkit.fluxcd.io/v1", "Kustomization", f"flower-{host}", SPACE)

    def suspend(self, host, yes=True):
        """What C(flux suspend) and C(flux resume) do."""
        self.hub.patch("kustomize.toolkit.fluxcd.io/v1", "Kustomization", f"flower-{host}", SPACE, {"spec": {"suspend": yes}})

    def request(self, *hosts):
        """What C(flux reconcile) does with the repository, then with the Kustomizations; the request's name."""
        name = uuid.uuid4().hex
        body = {"metadata": {"annotations": {REQUEST: name}}}
        self.hub.patch("source.toolkit.fluxcd.io/v1", "GitRepository", "fleet", SPACE, body)
        for host in hosts:
            self.hub.patch("kustomize.toolkit.fluxcd.io/v1", "Kustomization", f"flower-{host}", SPACE, body)
        return name

    def applied(self, fed, revision, *hosts):
        """Wait until Flux has applied a revision and found all objects ready."""
        name = self.request(*hosts)

        def done(host):
            status = self.kustomization(host).get("status") or {}
            ready = [one["status"] for one in status.get("conditions", []) if one["type"] == "Ready"]
            return (status.get("lastHandledReconcileAt"), status.get("lastAppliedRevision"), ready) == (name, revision, ["True"])

        for host in hosts:
            fed.wait(f"Flux has applied {revision} for {host}", lambda host=host: done(host), 300)


def shown():
    """The GitRepository and the Kustomization of the guide."""
    section = re.search(r"^Flux\n-+\n(.*?)^-+$", GUIDE.read_text(encoding="utf-8"), re.M | re.S)
    return [yaml.safe_load(textwrap.dedent(text)) for text in re.findall(r"\.\. code-block:: yaml\n\n((?: {4}.*\n)+)", section[1])]


def _patch(cluster, item, body, *, force):
    """Apply an object under the name of Flux's field manager."""
    path = cluster.resource(item["apiVersion"], item["kind"]).path(item["metadata"].get("namespace"), item["metadata"]["name"])
    query = {"fieldManager": FLUX, "force": "true" if force else "false"}
    cluster.request("PATCH", path, body=body, query=query, content_type="application/apply-patch+yaml")


def take(cluster, items):
    """Apply objects as Flux would, without its controllers: none of their fields may have another value."""
    for item in items:
        _patch(cluster, item, item, force=False)


def release(cluster, items):
    """Have Flux's field manager own nothing of these objects any more, as if it had never applied them. Its labels go, too."""
    for item in items:
        meta = item["metadata"]
        bare = {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": {key: meta[key] for key in ("name", "namespace") if key in meta}}
        if cluster.get(item["apiVersion"], item["kind"], meta["name"], meta.get("namespace")):
            _patch(cluster, item, bare, force=True)
