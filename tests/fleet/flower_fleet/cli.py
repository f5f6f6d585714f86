# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Commands of the fleet."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, NoReturn

from . import external, host, prepare, settings
from .addons import certmanager, flux, mlflow, ocm, prometheusoperator, seaweedfs, skupper, traefik
from .clusters import lifecycle, network
from .clusters.api import Api, ApiError
from .console import Console, report
from .errors import FleetError
from .images import ee, layer
from .settings import LOCK, LOCK_TIMEOUT, RUN_LINK, Cluster, Settings
from .shell import lock

ON_DEMAND = {
    "cert-manager": certmanager,
    "flux": flux,
    "mlflow": mlflow,
    "prometheus-operator": prometheusoperator,
    "seaweedfs": seaweedfs,
    "skupper": skupper,
    "traefik": traefik,
}


def parser() -> argparse.ArgumentParser:
    """Command line."""
    top = argparse.ArgumentParser(prog="fleet", description="A fleet of real Kubernetes clusters on this machine.")
    commands = top.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start what is missing; running clusters are left alone")
    up.add_argument("--sites", type=int, help="number of sites (default: FLEET_SITES, else 2)")
    up.add_argument("--kubectl", action="store_true", help="build kubectl too")
    commands.add_parser("down", help="remove everything except the caches, also after a crash")
    status = commands.add_parser("status", help="show the clusters; ends with 3 if none runs, 1 if one is not healthy")
    status.add_argument("--json", action="store_true")
    commands.add_parser("kubeconfig", help="print the path of the kubeconfig with all clusters")
    add = commands.add_parser("add-site", help="start one more site")
    add.add_argument("name", nargs="?", help="site-a to site-z (default: the next one)")
    for name, text in (
        ("cut", "cut the network link of a cluster"),
        ("mend", "reconnect the network link of a cluster"),
        ("crash", "kill a cluster as a power cut would; 'up' recreates it"),
    ):
        commands.add_parser(name, help=text).add_argument("name")
    execute = commands.add_parser("exec", help="run a command inside a cluster's namespaces: exec NAME -- CMD ...")
    execute.add_argument("name")
    execute.add_argument("argv", nargs=argparse.REMAINDER)
    tool = commands.add_parser(
        "tool", help="build a test tool if need be; the last line is the folder with its programs"
    )
    tool.add_argument("name")
    image = commands.add_parser(
        "image",
        help="give the image of an app of examples/, or of another folder (a path), to all clusters that run, that of the execution environment to the hub, "
        "those of another release of Flower (flower-1.41.0), or rclone, to all",
    )
    image.add_argument("name")
    addons = commands.add_parser("addon", help="start or stop what only some tests need")
    names = addons.add_subparsers(dest="addon", required=True)
    for name in (*ON_DEMAND, "ocm"):
        verbs = names.add_parser(name).add_subparsers(dest="verb", required=True)
        for verb, text in (("up", "start it, if it does not run"), ("down", "remove it with all that it made")):
            verbs.add_parser(verb, help=text)
        if name == "ocm":
            ocm.add_verbs(verbs)
        if name == "skupper":
            skupper.add_options(verbs)
    return top


def main(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit status."""
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: _leave(143))
    try:
        wanted = settings.from_environment(
            os.environ, sites=getattr(options, "sites", None), kubectl=getattr(options, "kubectl", False)
        )
        if options.command == "tool":
            print(prepare.tool(wanted, options.name))
            return 0
        if wanted.external_kubeconfig:
            return _external(options, wanted, wanted.external_kubeconfig)
        return _local(options, wanted)
    except FleetError as error:
        print(f"fleet: {error}", file=sys.stderr)
        report(failed=str(error))
        _leave(1)
    except KeyboardInterrupt:
        print("fleet: interrupted; 'up' continues from here, 'down' cleans up.", file=sys.stderr)
        _leave(130)
    except Exception:
        traceback.print_exc()
        _leave(1)


def _leave(status: int) -> NoReturn:
    """End now: a lane of builds that may still run must not hold the process (its programs end with it)."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _external(options: argparse.Namespace, wanted: Settings, file: Path) -> int:
    """The user's own clusters: nothing to start, nothing to remove."""
    if options.command == "kubeconfig":
        print(file)
    elif options.command in ("up", "status"):
        have = external.check(file, wanted.names)
        print(f"own clusters by FLOWER_FLEET_KUBECONFIG={file}: {', '.join(have)}")
    elif options.command == "down":
        print(f"own clusters by FLOWER_FLEET_KUBECONFIG={file}: left alone")
    else:
        raise FleetError(f"'{options.command}' works on the local fleet only; FLOWER_FLEET_KUBECONFIG is set.")
    return 0


def _local(options: argparse.Namespace, wanted: Settings) -> int:
    state = lifecycle.state_directory(wanted)
    if options.command == "kubeconfig":
        print(state / "kubeconfig")
        return 0 if (state / "kubeconfig").exists() else 3
    host.require_root()
    if options.command == "status":
        return _status(wanted, state, as_json=options.json)
    if options.command == "exec":
        return _exec(_running(wanted, state, options.name), state, options.argv)
    console = Console()
    lock(LOCK, timeout=LOCK_TIMEOUT, waiting=lambda: console.line("waiting for another fleet command"))
    state = lifecycle.state_directory(wanted)
    if options.command == "up":
        record = lifecycle.Record.load(state)
        added = [item.name for item in lifecycle.existing(state, IPv4Network(record.subnet))] if record else []
        return _up(wanted, console, list(dict.fromkeys([*wanted.names, *added])))
    if options.command == "add-site":
        return _add_site(wanted, console, state, options.name)
    if options.command == "down":
        with console.phase("removing the fleet") as phase:
            names = lifecycle.remove_all(wanted)
            prepare.clear_partial(wanted.cache)
            phase.note = ", ".join(names) or "nothing was there"
        return 0
    if options.command == "image":
        return _image(wanted, console, state, options.name)
    if options.command == "addon":
        hub = _running(wanted, state, "hub")
        if options.addon == "ocm":
            ocm.run(options, wanted, console, state, hub)
        elif options.verb == "up":
            pace = {"resync": options.resync} if options.addon == "skupper" else {}
            ON_DEMAND[options.addon].up(wanted, console, state, hub, **pace)
        else:
            ON_DEMAND[options.addon].down(wanted, state, hub)
            console.line(f"{options.addon} is gone")
        return 0
    item = _running(wanted, state, options.name)
    if options.command == "crash":
        lifecycle.crash(state, item)
        console.line(f"{item.name} is dead; 'fleet up' recreates it")
    else:
        network.set_link(item, up=options.command == "mend")
        console.line(f"{item.name} is {'cut off' if options.command == 'cut' else 'back on the network'}")
    return 0


def _subnet(wanted: Settings, state: Path) -> IPv4Network:
    record = lifecycle.Record.load(state)
    return IPv4Network(record.subnet) if record else wanted.subnet


def _running(wanted: Settings, state: Path, name: str) -> Cluster:
    item = settings.cluster(name, _subnet(wanted, state))
    if not lifecycle.usable(state, item):
        raise FleetError(f"{name} does not run. Start it with 'fleet up'.")
    return item


def _up(wanted: Settings, console: Console, names: Sequence[str]) -> int:
    state = lifecycle.state_directory(wanted)
    if state != wanted.state:
        raise FleetError(
            f"a fleet of another cache directory runs on this machine ({state}). Use the same "
            "XDG_CACHE_HOME, or remove it with 'fleet down'."
        )
    record = lifecycle.Record.load(state)
    subnet = IPv4Network(record.subnet) if record else wanted.subnet
    items = [settings.cluster(name, subnet) for name in names]
    missing = [item for item in items if not lifecycle.usable(state, item)]
    if not missing and network.host_link_is_up():
        console.line(f"{', '.join(names)}: all run already, nothing to do")
        if record and prepare.outdated(wanted, record.in_use):
            console.line("they were started from other versions of programs or images; 'down' and 'up' renew them")
        _finish(wanted, console, state)
        return 0
    prepared = prepare.prepare(wanted, console)
    with console.phase("network and nodes"):
        if record is None or not network.host_link_is_up():
            # incomplete, of someone else (no record), or a machine that was restarted: nothing of it can be used
            lifecycle.remove_all(wanted)
            host.check_subnet(wanted.subnet)
            record = lifecycle.Record(str(wanted.subnet))
            items = [settings.cluster(name, wanted.subnet) for name in names]
            missing = items
        record.in_use = sorted({*record.in_use, str(prepared.binaries), str(prepared.seed)})
        record.save(state)
        with contextlib.suppress(FileExistsError):
            RUN_LINK.symlink_to(state)
        lifecycle.make_mount_points(record, state)
        network.ensure_switch(IPv4Network(record.subnet))
        for item in missing:
            lifecycle.remove(state, item)
            lifecycle.start(wanted, item, prepared.binaries, prepared.seed, state)
    lifecycle.wait(state, missing, console)
    _finish(wanted, console, state)
    prepare.prune(wanted, console, prepared, record.in_use)
    return 0


def _finish(wanted: Settings, console: Console, state: Path) -> None:
    """Write the kubeconfig of all clusters and say where it is."""
    from .clusters import pki  # needs cryptography, which ``up`` installs if it is missing

    running = [item for item in lifecycle.existing(state, _subnet(wanted, state)) if lifecycle.usable(state, item)]
    temporary = state / "kubeconfig.new"
    pki.write_private(temporary, pki.merged(state, running))
    temporary.rename(state / "kubeconfig")
    console.line(f"contexts {', '.join(item.name for item in running)} in KUBECONFIG={state / 'kubeconfig'}")


def _add_site(wanted: Settings, console: Console, state: Path, name: str | None) -> int:
    have = [item.name for item in lifecycle.existing(state, _subnet(wanted, state))]
    if not have:
        raise FleetError("no fleet runs. Start it with 'fleet up'.")
    if name is None:
        name = next((site for site in settings.site_names(settings.MAX_SITES) if site not in have), None)
        if name is None:
            raise FleetError(f"all {settings.MAX_SITES} sites exist.")
    return _up(wanted, console, [*have, *([] if name in have else [name])])


def _image(wanted: Settings, console: Console, state: Path, name: str) -> int:
    items = [item for item in lifecycle.existing(state, _subnet(wanted, state)) if lifecycle.usable(state, item)]
    if not items:
        raise FleetError("no fleet runs. Start it with 'fleet up'.")
    image = prepare.layered_image(name)
    for one in image.archives:
        with console.phase(f"image {one.reference}") as phase:
            one.ensure(wanted, phase)
    if name == ee.NAME:
        items = [item for item in items if item.name == "hub"]  # where AWX has its pods
    with console.phase(f"{image.reference} in {', '.join(item.name for item in items)}"), ThreadPoolExecutor() as pool:
        list(pool.map(lambda item: layer.give(image, wanted, lifecycle.entering(state, item)), items))
    return 0


def _status(wanted: Settings, state: Path, *, as_json: bool) -> int:
    rows: list[dict[str, Any]] = []
    for item in lifecycle.existing(state, _subnet(wanted, state)):
        word = "dead"
        if lifecycle.usable(state, item):
            word = "cut off" if network.is_cut(item) else "not answering"
            with contextlib.suppress(OSError, ApiError):
                if word != "cut off" and Api(item, state / item.name / "pki").request("GET", "/readyz") == "ok":
                    word = "ready"
        rows.append(
            {
                "name": item.name,
                "state": word,
                "address": item.address,
                "region": item.region,
                "server": item.server,
                "resources": dict(item.extended_resources),
            }
        )
    if as_json:
        print(json.dumps({"kubeconfig": str(state / "kubeconfig"), "clusters": rows}, indent=2))
    else:
        for row in rows:
            extra = " ".join(f"{name}={amount}" for name, amount in row["resources"].items())
            print(f"{row['name']:8} {row['state']:14} {row['region']:3} {row['server']} {extra}".rstrip())
        print(f"KUBECONFIG={state / 'kubeconfig'}" if rows else "no fleet runs")
    if not rows:
        return 3
    return 0 if all(row["state"] == "ready" for row in rows) else 1


def _exec(item: Cluster, state: Path, argv: Sequence[str]) -> int:
    words = list(argv[1:] if argv[:1] == ["--"] else argv)
    if not words:
        raise FleetError("no command given: fleet exec NAME -- CMD ...")
    env = {**settings.process_environment(), "KUBECONFIG": str(state / item.name / "pki/admin.kubeconfig")}
    os.execvpe("nsenter", [*lifecycle.entering(state, item), *words], env)
