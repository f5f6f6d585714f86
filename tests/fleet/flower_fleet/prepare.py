# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Everything between a bare machine and the start of clusters: packages, Go, binaries, images, the seed store."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import binaries, golang, host
from .console import Console
from .errors import FleetError
from .images import apps, ee, former, rclone, seed
from .images.layer import Layered
from .images.recipes import Recipe, recipes
from .settings import LOCK, LOCK_TIMEOUT, Settings
from .shell import lock


@dataclass(frozen=True)
class Prepared:
    """What clusters are started from."""

    binaries: Path
    seed: Path


def prepare(settings: Settings, console: Console) -> Prepared:
    """Install and build what is missing; everything else comes from the cache."""
    with console.phase("machine") as phase:
        go = golang.find(settings)
        build = go is None or not binaries.built(settings, go)
        host.install_packages(settings, console, build=build)
        host.check_kernel(settings.cache)
        phase.note = host.suite()
    clear_partial(settings.cache)
    go = go or golang.ensure(settings, console)
    wanted = binaries.builds(settings)
    images = recipes(wanted[0].key(go))
    check_room(settings, go, images)
    if not all(recipe.path(settings).exists() for recipe in images):
        host.update_package_lists(settings)

    def make_images(some: list[Recipe], programs: Path | None) -> None:
        for recipe in some:
            with console.phase(f"image {recipe.name}") as phase:
                recipe.ensure(settings, go, programs, phase)

    def make_binaries() -> list[Path]:
        made = []
        for build in wanted:
            with console.phase(f"Go build of {build.name}") as phase:
                made.append(build.make(settings, go, phase))
        return made

    # two lanes: the Go builds, and the images that need nothing of them
    made, _images = _both(
        make_binaries, lambda: make_images([recipe for recipe in images if not recipe.needs_go], None)
    )
    make_images([recipe for recipe in images if recipe.needs_go], made[0])
    archives = [recipe.path(settings) for recipe in images]
    with console.phase("image store") as phase:
        store = seed.ensure(settings, archives, phase)
    return Prepared(made[0], store)


def tool(settings: Settings, name: str) -> Path:
    """Folder with the programs of a test tool; built if the cache has none."""
    build = next((one for one in binaries.TOOLS if one.name == name), None)
    if build is None:
        raise FleetError(f"there is no tool {name!r}; there are: {', '.join(one.name for one in binaries.TOOLS)}.")
    go = golang.find(settings)
    if go and build.folder(settings, go).is_dir():
        return build.folder(settings, go)
    host.require_root()
    console = Console()
    # The lock of the other commands: they remove what is half made.
    lock(LOCK, timeout=LOCK_TIMEOUT, waiting=lambda: console.line("waiting for another fleet command"))
    go = go or golang.ensure(settings, console)
    build_cache, modules = binaries.caches(go)[:2]
    host.check_disk([(build_cache, 1.0, "for Go's build cache"), (modules, 0.3, "for Go modules")])
    with console.phase(f"Go build of {name}") as phase:
        return build.make(settings, go, phase)


def layered_image(name: str) -> Layered:
    """The image of a name or path.

    It is that of an app, by its name in examples/ or its path, of the execution environment there, of rclone, or of
    another release of Flower (C(flower-1.41.0)).
    """
    base = next(recipe for recipe in recipes("") if recipe.name == "flower")
    if name == ee.NAME:
        return ee.ExecutionEnvironment(ee.Environment(base))
    if name == rclone.NAME:
        return rclone.RcloneImage(base)
    if name.startswith(former.PREFIX):
        return former.FormerRelease(name.removeprefix(former.PREFIX), base)
    if "/" in name or name in (".", ".."):
        return apps.of_folder(name, base)
    if name not in apps.names():
        known = sorted([*apps.names(), ee.NAME, rclone.NAME])
        raise FleetError(f"there is no image {name!r}; there are: {', '.join(known)}; an app in another folder is named by its path (./{name}).")
    return apps.AppImage(name, base)


def _both(first: Callable[[], list[Path]], second: Callable[[], None]) -> tuple[list[Path], None]:
    """Run both at the same time; the first error ends this call (the other lane's programs end with the process)."""
    pool = ThreadPoolExecutor(max_workers=2)
    left = pool.submit(first)
    right = pool.submit(second)
    lanes: set[Future[Any]] = {left, right}
    try:
        done, _waiting = wait(lanes, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
        return left.result(), right.result()
    finally:
        pool.shutdown(wait=False)


def check_room(settings: Settings, go: golang.Go, images: list[Recipe]) -> None:
    """Refuse early if the disk is too small for what is still to be made."""
    needs: list[tuple[Path, float, str]] = [(settings.cache, 0.5, "for running clusters")]
    if not binaries.built(settings, go):
        build_cache, modules = binaries.caches(go)[:2]
        needs += [
            (build_cache, 2.0, "for Go's build cache"),
            (modules, 1.0, "for Go modules"),
            (settings.cache, 0.3, "for programs"),
        ]
    if not all(recipe.path(settings).exists() for recipe in images):
        needs += [(settings.cache, 1.5, "for images")]
    host.check_disk(needs)


def clear_partial(cache: Path) -> None:
    """Remove what interrupted runs left half made."""
    for pattern in ("*.partial", "*/*.partial", "*/*.partial.layer", "probe-*"):
        for path in cache.glob(pattern):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def outdated(settings: Settings, in_use: list[str]) -> bool:
    """Whether running clusters were started from other programs or images than would be used now."""
    go = golang.find(settings)
    if not go:
        return False
    wanted = binaries.builds(settings)
    archives = [recipe.path(settings) for recipe in recipes(wanted[0].key(go))]
    return not {str(wanted[0].folder(settings, go)), str(seed.folder(settings, archives))} <= set(in_use)


def prune(settings: Settings, console: Console, prepared: Prepared, in_use: list[str]) -> None:
    """Remove programs, archives and stores of other versions, so that the cache does not grow without a limit."""
    go = golang.find(settings)
    if not go:
        return
    wanted = binaries.builds(settings)
    keep = {build.folder(settings, go) for build in (*wanted, *binaries.TOOLS)}
    keep |= {recipe.path(settings) for recipe in recipes(wanted[0].key(go))}
    keep |= {prepared.binaries, prepared.seed, *map(Path, in_use)}
    for folder in ("bin", "images", "seed"):
        for path in (settings.cache / folder).iterdir():
            if path not in keep and not path.name.startswith("kubectl-"):
                console.line(f"removing from the cache: {path.name}")
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
