# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Images with layers on top of others, made and imported only when one is asked for (`fleet image NAME`), so that no start of a fleet
waits for them. An archive has its own layer alone: the node has those below.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..console import Phase
from ..errors import FleetError
from ..settings import Settings
from ..shell import run, run_logged
from .archive import EPOCH
from .recipes import Recipe

FOLDER = "app-images"  # in the cache; not with the archives that every fleet has
LEFT_OUT = ("/tests/", "/direct_url.json", "/REQUESTED")
_KIND = "application/vnd.oci.image"


@dataclass(frozen=True)
class Below:
    """What a layer lies on: the image's configuration, and its layers as an archive's manifest names them, the lowest first."""

    config: dict[str, Any]
    layers: list[dict[str, Any]]


class Layered(ABC):
    """An image that has one layer more than another one."""

    name: str

    @property
    @abstractmethod
    def reference(self) -> str:
        """What pods call the image."""

    @abstractmethod
    def key(self) -> str:
        """Hash of all inputs."""

    @abstractmethod
    def make(self, settings: Settings, work: Path, target: Path, log: Path) -> None:
        """Write the archive C(target), using the scratch directory C(work)."""

    @property
    def archives(self) -> Sequence[Layered]:
        """Images whose archives a node needs, in the order in which they can be imported."""
        return [self]

    def path(self, settings: Settings) -> Path:
        """Place of the archive in the cache."""
        return settings.cache / FOLDER / f"{self.name}-{self.key()}.tar"

    def ensure(self, settings: Settings, phase: Phase) -> Path:
        """Make the archive unless the cache has it; older ones of the same image are removed."""
        done = self.path(settings)
        if done.exists():
            phase.note = "cached"
            return done
        for old in done.parent.glob(f"{self.name}-{'[0-9a-f]' * len(self.key())}.tar*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        work, partial = done.with_name(f"{done.name}.work.partial"), done.with_name(f"{done.name}.partial")
        work.mkdir(parents=True)
        self.make(settings, work, partial, settings.logs / f"image-{self.name}.log")
        partial.rename(done)
        shutil.rmtree(work)
        return done


class Packages:
    """Flower's image, unpacked, for Python packages that are put on top of it.

    pip resolves and fetches outside of the image, so that it reads the machine's settings for indexes, proxies and certificates; it
    installs inside. Flower's image has no pip: that of this Python's index is taken.
    """

    def __init__(self, base: Recipe, settings: Settings, work: Path, log: Path) -> None:
        self.root = work / "root"
        self.wheels = self.root / "wheels"
        self.work = work
        self.log = log
        self.wheels.mkdir(parents=True)
        with opened(base, settings) as file:
            self.below, packed = of_flower(file, "superexec")
            with subprocess.Popen(["tar", "-x", "-C", self.root], stdin=subprocess.PIPE) as unpack:
                assert unpack.stdin is not None
                shutil.copyfileobj(_file(file, packed), unpack.stdin)
        self.before = set(files(self.root))

    @property
    def version(self) -> str:
        """Name of the image's Python, such as C(python3.11)."""
        return next(path.name for path in (self.root / "usr/lib").glob("python3.*"))

    def run(self, *command: str) -> str:
        """Run a program in the image; return what it printed."""
        return run(["chroot", self.root, *command]).stdout

    def install(self, environment: str, wanted: Sequence[str]) -> None:
        """Install packages into an environment of the image and compile them.

        Args:
            environment: path in the image.
            wanted: arguments for pip; files are in the folder C(wheels), in which it works.
        """
        root, log = self.root, self.log
        run_logged(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", self.wheels, "pip"], log.with_suffix(".pip.log")
        )
        pip = next(self.wheels.glob("pip-*.whl")).name
        libraries = ":".join(sorted({str(path.parent) for path in (root / "usr/lib").rglob("libssl.so*")}))
        outside = {
            **os.environ,
            "PYTHONHOME": str(root / "usr"),
            "PYTHONPATH": str(self.wheels / pip),
            "LD_LIBRARY_PATH": libraries,
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        run_logged(
            [
                *(root / "usr/bin" / self.version, "-m", "pip", "download"),
                *("--only-binary=:all:", "--progress-bar=off", "-d", ".", *wanted),
            ],
            log.with_suffix(".download.log"),
            env=outside,
            cwd=self.wheels,
        )
        python = ["chroot", str(root), f"{environment}/bin/python"]
        install = ["--disable-pip-version-check", "--isolated", "install", "--no-index", "--no-compile", "--find-links=/wheels"]
        # chroot begins in the root folder; the names of files are those of the folder of wheels.
        inside = [f"/wheels/{word}" if (self.wheels / word).is_file() else word for word in wanted]
        run_logged([*python, f"/wheels/{pip}/pip", *install, *inside], log.with_suffix(".install.log"))
        site = root / environment.lstrip("/") / "lib" / self.version / "site-packages"
        new = [f"/{path.relative_to(root)}" for path in site.iterdir() if str(path.relative_to(root)) not in self.before]
        # As in flower.py: valid whatever the times of the sources.
        compile_all = ["-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash", "-x", "/tests/|/templates/"]
        run_logged([*python, *compile_all, *sorted(new)], log.with_suffix(".compile.log"))

    def write(self, target: Path, reference: str, config: dict[str, Any] | None = None) -> None:
        """Write what was added to Flower's image as an archive."""
        shutil.rmtree(self.wheels)
        names = (name for name in files(self.root) if name not in self.before)
        added = sorted(name for name in names if not any(part in f"/{name}" for part in LEFT_OUT))
        write(target, reference, self.below, pack(self.root, added, self.work), config)


def opened(base: Recipe, settings: Settings) -> tarfile.TarFile:
    """The archive with Flower's images."""
    archive = base.path(settings)
    if not archive.exists():
        raise FleetError("the fleet runs with other images than this version would make: 'down' and 'up' renew them.")
    return tarfile.open(archive)


def of_flower(archive: tarfile.TarFile, program: str) -> tuple[Below, str]:
    """Flower's image of a program as what a layer lies on, and the name of its only layer in the archive."""
    names = next(one for one in json.load(_file(archive, "manifest.json")) if f"/{program}:" in one["RepoTags"][0])
    config = json.load(_file(archive, names["Config"]))
    layer = {"digest": config["rootfs"]["diff_ids"][0], "size": archive.getmember(names["Layers"][0]).size}
    return Below(config, [{"mediaType": f"{_KIND}.layer.v1.tar", **layer}]), names["Layers"][0]


def key(below: str, sources: Iterable[Path]) -> str:
    """Hash of the key of the image below and of files."""
    return hashlib.sha256(below.encode() + b"".join(path.read_bytes() for path in (*sources, Path(__file__)))).hexdigest()[:16]


def _file(archive: tarfile.TarFile, name: str) -> io.BufferedReader:
    file = archive.extractfile(name)
    assert isinstance(file, io.BufferedReader)
    return file


def files(root: Path) -> Iterator[str]:
    """Paths of all files and folders, below ``root``."""
    for folder, folders, names in os.walk(root):
        yield from (os.path.relpath(os.path.join(folder, name), root) for name in [*folders, *names])


def pack(root: Path, names: Sequence[str], work: Path) -> Path:
    """Pack these paths below C(root) as a layer, with times of zero: the same content gives the same layer."""
    layer, listing = work / "layer.tar", work / "added"
    listing.write_text("".join(f"{name}\n" for name in names))
    owner = ["--owner=0", "--group=0", "--numeric-owner"]
    run(["tar", "--mtime=@0", *owner, "-C", root, "-cf", layer, "--no-recursion", "-T", listing], contained=True)
    return layer


def described(archive: Path) -> Below:
    """What an archive of C(write) says of its image."""
    with tarfile.open(archive) as file:

        def blob(digest: str) -> Any:
            return json.load(_file(file, f"blobs/{digest.replace(':', '/')}"))

        manifest = blob(json.load(_file(file, "index.json"))["manifests"][0]["digest"])
        return Below(blob(manifest["config"]["digest"]), manifest["layers"])


def write(target: Path, reference: str, below: Below, layer: Path, config: dict[str, Any] | None = None) -> None:
    """Write an OCI layout with one layer, without those below.

    Args:
        target: the archive.
        reference: what pods call the image.
        below: image that the layer lies on.
        layer: the layer, a tar archive.
        config: entries that replace those of the configuration of the image below.
    """
    digest = hashlib.sha256()
    with layer.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    above = {"mediaType": f"{_KIND}.layer.v1.tar", "digest": f"sha256:{digest.hexdigest()}", "size": layer.stat().st_size}
    layers = [*below.layers, above]
    made = {
        **below.config,
        "config": {**below.config["config"], **(config or {})},
        "rootfs": {"type": "layers", "diff_ids": [one["digest"] for one in layers]},
        "history": [{"created": EPOCH} for _one in layers],
    }
    with tarfile.open(target, "w") as archive:

        def blob(data: bytes, media: str) -> dict[str, object]:
            name = hashlib.sha256(data).hexdigest()
            info = tarfile.TarInfo(f"blobs/sha256/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
            return {"mediaType": f"{_KIND}.{media}", "digest": f"sha256:{name}", "size": len(data)}

        body = {
            "schemaVersion": 2,
            "mediaType": f"{_KIND}.manifest.v1+json",
            "config": blob(json.dumps(made, sort_keys=True).encode(), "config.v1+json"),
            "layers": layers,
        }
        manifest = blob(json.dumps(body, sort_keys=True).encode(), "manifest.v1+json")
        manifest["annotations"] = {"io.containerd.image.name": reference}
        for name, content in (
            ("oci-layout", {"imageLayoutVersion": "1.0.0"}),
            ("index.json", {"schemaVersion": 2, "manifests": [manifest]}),
        ):
            info = tarfile.TarInfo(name)
            data = json.dumps(content).encode()
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        archive.add(layer, f"blobs/sha256/{digest.hexdigest()}")


def give(image: Layered, settings: Settings, enter: list[str]) -> None:
    """Give the image, whose archives were made, to one node, unless it has it."""
    ctr = [*enter, "ctr", "--namespace", "k8s.io", "images"]
    for one in image.archives:
        archive = one.path(settings)
        with tarfile.open(archive) as file:
            digest = json.load(_file(file, "index.json"))["manifests"][0]["digest"]
        if not any(line.startswith(one.reference) and digest in line for line in run([*ctr, "ls"]).stdout.splitlines()):
            run([*ctr, "import", archive])
