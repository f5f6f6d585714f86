# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Kubernetes, etcd, the volume provisioner, CoreDNS and test tools, built from the Go modules beside this package."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .console import Phase
from .golang import Go
from .settings import GO_DIR, Settings
from .shell import run, run_logged

_K8S = "k8s.io/kubernetes/cmd"
# The second command is separate: with kubelet in one command Go stops with a case-insensitive import collision
# (Sirupsen/logrus, sirupsen/logrus).
KUBERNETES = (
    (
        *(
            f"{_K8S}/{name}"
            for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")
        ),
        "go.etcd.io/etcd/server/v3",
    ),
    ("github.com/rancher/local-path-provisioner",),
)


@dataclass(frozen=True)
class Build:
    """Go programs of one module that are built together, kept under a key of all that goes in."""

    name: str
    module: str
    commands: tuple[tuple[str, ...], ...]

    @property
    def source(self) -> Path:
        """The module's directory."""
        return GO_DIR / self.module

    def ldflags(self) -> str:
        """Linker flags; Kubernetes gets its version from them, as in its own build."""
        flags = ["-s", "-w"]
        if self.module == "kubernetes":
            version = module_version("k8s.io/kubernetes", self.source)
            major, minor, _patch = version.lstrip("v").split(".", 2)
            for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
                flags += [
                    f"-X {package}.gitVersion={version}",
                    f"-X {package}.gitMajor={major}",
                    f"-X {package}.gitMinor={minor}",
                    f"-X {package}.gitTreeState=clean",
                ]
        return " ".join(flags)

    def key(self, go: Go) -> str:
        """Hash of module files, sources, flags and Go version."""
        digest = hashlib.sha256(f"{go.version} {self.commands} {self.ldflags()}".encode())
        for path in sorted(self.source.iterdir()):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
        return digest.hexdigest()[:16]

    def folder(self, settings: Settings, go: Go) -> Path:
        """Where the programs are, once built."""
        return settings.cache / "bin" / f"{self.name}-{self.key(go)}"

    def make(self, settings: Settings, go: Go, phase: Phase) -> Path:
        """Build unless the cache has it. Interrupted builds leave only a folder ending in .partial."""
        done = self.folder(settings, go)
        if done.is_dir():
            phase.note = "cached"
            return done
        partial = done.with_name(f"{done.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        count = 0

        def compiled(line: str) -> None:
            nonlocal count
            if line and not line.startswith("go: ") and "/" in line:
                count += 1
                phase.note = f"{count} packages"

        for number, packages in enumerate(self.commands):
            run_logged(
                [
                    go.command,
                    "build",
                    "-v",
                    "-trimpath",
                    "-buildvcs=false",
                    "-mod=readonly",
                    "-ldflags",
                    self.ldflags(),
                    "-o",
                    f"{partial}/",
                    *packages,
                ],
                settings.logs / f"build-{self.name}-{number}.log",
                env=go.environment(),
                cwd=self.source,
                on_line=compiled,
            )
        if (partial / "server").exists():
            (partial / "server").rename(partial / "etcd")
        partial.rename(done)
        return done


# What single tests ask for (`fleet tool NAME`, `fleet addon NAME up`). Built when the first one does, and never on the way to a fleet.
CERT_MANAGER = Build("certmanager", "certmanager", (("github.com/cert-manager/cert-manager/cmd/controller",),))
CYCLONUS = Build("cyclonus", "cyclonus", (("github.com/mattfenwick/cyclonus/cmd/cyclonus",),))
KUBECTL = Build("kubectl", "kubernetes", ((f"{_K8S}/kubectl",),))
_OCM = "open-cluster-management.io/ocm/cmd"
OCM = Build("ocm", "ocm", ((f"{_OCM}/registration", f"{_OCM}/work", "."),))
OCM_HUB = Build("ocm-hub", "ocm-hub", ((f"{_OCM}/addon", f"{_OCM}/placement"),))
TOOLS = (CERT_MANAGER, CYCLONUS, KUBECTL, OCM, OCM_HUB)


def module_version(module: str, source: Path) -> str:
    """Version of ``module`` in the go.mod of ``source``, e.g. v1.34.4."""
    match = re.search(rf"^(?:require)?\s*{re.escape(module)} (v\S+)", (source / "go.mod").read_text(), re.M)
    if not match:
        raise KeyError(module)
    return match.group(1)


def builds(settings: Settings) -> list[Build]:
    """What to build, in order."""
    wanted = [Build("kubernetes", "kubernetes", KUBERNETES), Build("coredns", "coredns", ((".",),))]
    if settings.kubectl:
        wanted.append(KUBECTL)
    return wanted


def built(settings: Settings, go: Go) -> bool:
    """Whether nothing is left to build."""
    return all(build.folder(settings, go).is_dir() for build in builds(settings))


def caches(go: Go) -> Sequence[Path]:
    """Go's own build and module cache."""
    names = run([go.command, "env", "GOCACHE", "GOMODCACHE"], env=go.environment()).stdout.split("\n")
    return [Path(name) for name in names if name]
