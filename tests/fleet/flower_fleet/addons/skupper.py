# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The stand-in for Skupper (tests/skupper_standin): its definitions and signs of installation in every cluster, and its
controller, one process for all of them in the hub's namespaces, which it ends with.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..clusters.api import Api, object_path
from ..clusters.lifecycle import entering, existing, process_words, usable
from ..console import Console
from ..images.flower import IMAGES
from ..settings import BUSYBOX_IMAGE, HERE, Cluster, Settings, process_environment
from .base import until

STANDIN = HERE.parents[1] / "skupper_standin"
GROUP = "skupper.io"
SPACE = "skupper"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RESYNC = 30  # seconds; that of Skupper's controller
# What the controller makes, and Kubernetes' garbage collector removes with the Sites and Certificates.
COLLECTED = ("v1/secrets", "v1/configmaps", "v1/services", "v1/serviceaccounts", "apps/v1/deployments")


def add_options(verbs: Any) -> None:
    """Put the options of this add-on on its verb ``up``."""
    text = f"the controller's pace: remade Secrets, retries, late status (default: {RESYNC}, as Skupper's)"
    verbs.choices["up"].add_argument("--resync", metavar="SECONDS", type=int, default=RESYNC, help=text)


def up(settings: Settings, console: Console, state: Path, hub: Cluster, *, resync: int = RESYNC) -> None:
    """Apply the definitions to every cluster and start the controller; restart it if it is another one or clusters joined."""
    clusters = [one for one in existing(state, hub.subnet) if usable(state, one)]
    with console.phase("the stand-in for Skupper") as phase:
        manifests = _manifests()
        for one in clusters:
            api = Api(one, state / one.name / "pki")
            for item in manifests:
                api.apply(item)
        words = [*_identity(state), f"--tag={_tag()}", f"--contexts={','.join(one.name for one in clusters)}"]
        words += [f"--resync={resync}", f"--staleness={resync}", "--link-delay=1"]
        running = _processes(state)
        if running and all(set(words) <= set(line) for line in running.values()):
            phase.note = "it runs already"
            return
        _end(state)
        ready = state / hub.name / "skupper-standin.ready"
        ready.unlink(missing_ok=True)
        log = state / hub.name / "log/skupper-standin.log"
        command = [sys.executable, str(STANDIN), "run", *words, f"--router-image={IMAGES[-1]}"]
        with log.open("a") as stream:
            subprocess.Popen(
                [*entering(state, hub), *command, f"--ready-file={ready}"],
                env={**process_environment(), "PYTHONUNBUFFERED": "1"},
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd="/",
                start_new_session=True,
            )
        until(ready.exists, f"the stand-in for Skupper does not start, log: {log}")


def down(settings: Settings, state: Path, hub: Cluster) -> None:
    """Remove every object of Skupper's API with all that came of it, then the definitions, and end the controller."""
    apis = [Api(one, state / one.name / "pki") for one in existing(state, hub.subnet) if usable(state, one)]
    _end(state)
    for api in apis:
        for definition in _definitions(api).values():
            names = definition["spec"]["names"]
            version = definition["spec"]["versions"][0]["name"]
            for item in api.request("GET", f"/apis/{GROUP}/{version}/{names['plural']}")["items"]:
                data = item["metadata"]
                api.delete(f"/apis/{GROUP}/{version}/namespaces/{data['namespace']}/{names['plural']}/{data['name']}")
    for api in apis:
        until(lambda api=api: not _left(api), "objects of the stand-in for Skupper are not collected")
        for name in _definitions(api):
            api.delete(f"{DEFINITIONS}/{name}")
        path = object_path({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
        api.delete(path)
        until(lambda api=api, path=path: api.get(path) is None, f"{path} is not deleted")
        until(lambda api=api: not _definitions(api), "Skupper's definitions are not deleted")


def _manifests() -> list[dict[str, Any]]:
    """What the stand-in's own command prints."""
    sys.path.insert(0, str(STANDIN))
    try:
        from skupper_standin import installation
    finally:
        sys.path.remove(str(STANDIN))
    assert installation.IMAGE == BUSYBOX_IMAGE
    return installation.manifests()


def _definitions(api: Api) -> dict[str, dict[str, Any]]:
    found = api.request("GET", DEFINITIONS)["items"]
    return {item["metadata"]["name"]: item for item in found if item["spec"]["group"] == GROUP}


def _left(api: Api) -> list[str]:
    """Objects that still have an owner of Skupper's API."""
    found = []
    for place in COLLECTED:
        version, plural = place.rsplit("/", 1)
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        for item in api.request("GET", f"{root}/{plural}")["items"]:
            owners = item["metadata"].get("ownerReferences") or []
            if any(one["apiVersion"].startswith(f"{GROUP}/") for one in owners):
                found.append(item["metadata"]["name"])
    return found


def _identity(state: Path) -> list[str]:
    return [f"--kubeconfig={state / 'kubeconfig'}"]


def _tag() -> str:
    """Changes with the program."""
    digest = hashlib.sha256()
    for path in sorted((STANDIN / "skupper_standin").glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _processes(state: Path) -> dict[int, list[str]]:
    """Command lines of the controllers of this fleet (nsenter, which waits for the program, not counted)."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            words = process_words(int(entry.name))
            if words[1:3] and words[1].endswith("/skupper_standin") and set(_identity(state)) <= set(words):
                found[int(entry.name)] = words
    return found


def _end(state: Path) -> None:
    for pid in _processes(state):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    until(lambda: not _processes(state), "the stand-in for Skupper does not end")
