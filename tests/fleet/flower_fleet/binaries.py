# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Kubernetes, etcd, CoreDNS and test tools, built from the Go modules beside this package."""

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

# What the module's own program is called by (go/kubernetes/main.go).
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet")
# The compiler takes most of a first start. It has less to do without tables for debuggers, and where it inlines nothing. That costs little
# in generated code and in loops that wait, as most of Kubernetes is, but much where every byte is looked at.
INLINED = ("std", "golang.org/x/...", "google.golang.org/...", "go.etcd.io/...", "sigs.k8s.io/...", "k8s.io/apimachinery/...")
FLAGS = (
    *("-trimpath", "-buildvcs=false", "-mod=readonly", "-gcflags=all=-dwarf=false -l"),
    *(f"-gcflags={packages}=-dwarf=false" for packages in INLINED),
)


@dataclass(frozen=True)
class Build:
    """Go programs of one module that are built together, kept under a key of all that goes in."""

    name: str
    module: str
    packages: tuple[str, ...]
    links: tuple[str, ...] = ()  # to the program that has the module's name

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
        digest = hashlib.sha256(f"{go.version} {self.packages} {self.links} {FLAGS} {self.ldflags()}".encode())
        for path in sorted(path for path in self.source.rglob("*") if path.is_file()):
            digest.update(str(path.relative_to(self.source)).encode() + b"\0" + path.read_bytes())
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

        run_logged(
            [go.command, "build", "-v", *FLAGS, "-ldflags", self.ldflags(), "-o", f"{partial}/", *self.packages],
            settings.logs / f"build-{self.name}.log",
            env=go.environment(),
            cwd=self.source,
            on_line=compiled,
        )
        for link in self.links:
            (partial / link).symlink_to(self.module)
        partial.rename(done)
        return done


KUBERNETES = Build("kubernetes", "kubernetes", (".", "./coredns"), PROGRAMS)
# What single tests ask for (`fleet tool NAME`, `fleet addon NAME up`). Built when the first one does, and never on the way to a fleet.
CERT_MANAGER = Build("certmanager", "certmanager", ("github.com/cert-manager/cert-manager/cmd/controller",))
CYCLONUS = Build("cyclonus", "cyclonus", ("github.com/mattfenwick/cyclonus/cmd/cyclonus",))
KUBECTL = Build("kubectl", "kubernetes", ("k8s.io/kubernetes/cmd/kubectl",))
_OCM = "open-cluster-management.io/ocm/cmd"
OCM = Build("ocm", "ocm", (f"{_OCM}/registration", f"{_OCM}/work", "."))
OCM_HUB = Build("ocm-hub", "ocm-hub", (f"{_OCM}/addon", f"{_OCM}/placement"))
FLUX = Build(
    "flux", "flux", ("github.com/fluxcd/kustomize-controller", "github.com/fluxcd/source-controller", "./git-server")
)
PROMETHEUS_OPERATOR = Build(
    "prometheus-operator", "prometheus-operator", ("github.com/prometheus-operator/prometheus-operator/cmd/operator",)
)
RCLONE = Build("rclone", "rclone", (".",))
SEAWEEDFS = Build("seaweedfs", "seaweedfs", ("github.com/seaweedfs/seaweedfs/weed",))
TRAEFIK = Build("traefik", "traefik", (".",))
TOOLS = (CERT_MANAGER, CYCLONUS, FLUX, KUBECTL, OCM, OCM_HUB, PROMETHEUS_OPERATOR, RCLONE, SEAWEEDFS, TRAEFIK)


def module_version(module: str, source: Path) -> str:
    """Version of ``module`` in the go.mod of ``source``, e.g. v1.34.4."""
    match = re.search(rf"^(?:require)?\s*{re.escape(module)} (v\S+)", (source / "go.mod").read_text(), re.M)
    if not match:
        raise KeyError(module)
    return match.group(1)


def builds(settings: Settings) -> list[Build]:
    """What to build, in order."""
    return [KUBERNETES, KUBECTL] if settings.kubectl else [KUBERNETES]


def built(settings: Settings, go: Go) -> bool:
    """Whether nothing is left to build."""
    return all(build.folder(settings, go).is_dir() for build in builds(settings))


def caches(go: Go) -> Sequence[Path]:
    """Go's own build and module cache."""
    names = run([go.command, "env", "GOCACHE", "GOMODCACHE"], env=go.environment()).stdout.split("\n")
    return [Path(name) for name in names if name]
