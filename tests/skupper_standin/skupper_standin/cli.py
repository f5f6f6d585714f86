# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Commands of the stand-in."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from . import installation, kube, switches
from .controller import Cluster, Fleet

ROUTER_IMAGE = "docker.io/flwr/superexec:1.42.0"


def parser() -> argparse.ArgumentParser:
    """Command line."""
    top = argparse.ArgumentParser(prog="skupper_standin", description="A stand-in for Skupper's controller and router.")
    commands = top.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="serve clusters until killed")
    run.add_argument("--kubeconfig", type=Path, required=True)
    run.add_argument("--contexts", required=True, help="names, with commas between them")
    run.add_argument("--router-image", default=ROUTER_IMAGE, help="an image with Python 3.9 or newer")
    run.add_argument("--ready-file", type=Path, help="made when every cluster was read once")
    run.add_argument("--tag", default="", help="says nothing; to tell processes apart")
    for name, default in vars(switches.Switches()).items():
        if isinstance(default, (str, float)) and not isinstance(default, bool):
            run.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    manifests = commands.add_parser("manifests", help="print what an installation consists of")
    manifests.add_argument("--version", default=switches.Switches().version)
    return top


def main(arguments: Sequence[str]) -> int:
    """Run one command."""
    options = parser().parse_args(arguments)
    if options.command == "manifests":
        for item in installation.manifests(options.version):
            print(f"---\n{json.dumps(item, indent=1)}")
        return 0
    given = {name: getattr(options, name) for name in vars(switches.Switches()) if hasattr(options, name)}
    fleet = Fleet(switches.Switches(**given), options.router_image)
    config = kube.load(options.kubeconfig)
    for context in options.contexts.split(","):
        fleet.clusters.append(Cluster(fleet, context, kube.Client(config, context)))
    for cluster in fleet.clusters:
        cluster.start()
    while options.ready_file and not all(cluster.store.synced() for cluster in fleet.clusters):
        time.sleep(0.1)
    if options.ready_file:
        options.ready_file.touch()
    while True:
        time.sleep(3600)
