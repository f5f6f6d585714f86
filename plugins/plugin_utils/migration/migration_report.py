# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a move from flower-operator keeps, loses and restarts, as text for people. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base.errors import ClusterError
from ..base.names import keys_secret
from ..spec.site_spec import SiteSpec
from . import operator_federation
from .conversion import VERSION
from .federation_resource import from_federation
from .key_import import KEPT, ImportedKeys
from .operator_federation import OperatorFederation

MEMORY = ":flwr-in-memory:"
_ONE_PORT = (1, 40, 0)
_ACTIVE = ("pending", "starting", "running")
#: What a shell, or the text of its command, may change: the operator escapes nothing.
_SHELL = re.compile(r'["\\$`\n\r\t]|\}\w|^[+-]?0\d')
_GPU = re.compile(r"[a-z0-9.-]+/.+")


@dataclass
class MigrationReport:
    """The report on one site.

    Attributes:
        lines: sentences, under headings.
        missing: what the new pods name and the site's namespace lacks.
        active: ids of runs of the old SuperLink that are not over; None if it is not known.
    """

    lines: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    active: list[str] | None = None

    def section(self, heading: str, sentences: Sequence[str]) -> None:
        """Add sentences under a heading."""
        self.lines += [f"{heading}:", *(f"  {one}" for one in sentences)] if sentences else []


def version_of(seen: OperatorFederation) -> str:
    """Flower's version in the SuperLink's image; empty if its tag does not say."""
    image = str(operator_federation.container_of(seen.superlink, operator_federation.SUPERLINK).get("image", "")) if seen.superlink else ""
    found = VERSION.match(image.rpartition(":")[2])
    return found[1] if found else ""


def superlink_access(seen: OperatorFederation) -> tuple[int, str]:
    """How the old SuperLink's command line reaches it inside its pod, to list its runs: the port, and the path of its CA.

    Raises:
        ClusterError: that is not known.
    """
    if seen.superlink is None:
        raise ClusterError("the operator has created no SuperLink")
    container = operator_federation.container_of(seen.superlink, operator_federation.SUPERLINK)
    version = version_of(seen)
    if not version or tuple(map(int, version.split("."))) < _ONE_PORT:
        raise ClusterError(f"Flower {version or 'of an unknown version'} is older than 1.40, or may be; list its runs with flwr list")
    port = operator_federation.option(container, "--port") or "8000"
    ca = operator_federation.option(container, "--ssl-ca-certfile")
    if ca is None and operator_federation.option(container, "--insecure") is None:
        raise ClusterError("it has TLS, and the path of its CA is not among its arguments; list its runs with flwr list")
    return int(port) if port.isdecimal() else 8000, ca or ""


def active_of(answer: Mapping[str, Any]) -> list[str] | None:
    """Ids of runs that are not over, out of the answer of C(flwr list)."""
    if "runs" not in answer:
        return None
    return [str(run.get("run-id")) for run in answer["runs"] if str(run.get("status", "")).startswith(_ACTIVE)]


def report(seen: OperatorFederation, kept: ImportedKeys, spec: SiteSpec, answer: Mapping[str, Any], missing: Sequence[str]) -> MigrationReport:
    """Everything that is to be known before the move."""
    found = MigrationReport(missing=list(missing), active=active_of(answer))
    found.lines.append(f"Federation {seen.namespace}/{seen.name} of flower-operator, Flower {version_of(seen) or 'of an unknown version'}")
    found.section("Keys", _keys(kept, spec))
    found.section("Node configs", _node_configs(seen, spec))
    found.section("State of the SuperLink", [_state(seen), _runs(found.active, answer)])
    found.section("Restarts", _restarts(seen, spec))
    found.section(f"Missing in namespace {spec.namespace}: create it there before site.yml, the pods need it", list(missing))
    found.section("Last steps, which are yours", _steps(seen, kept, found.active))
    return found


def _keys(kept: ImportedKeys, spec: SiteSpec) -> list[str]:
    lines = []
    for one in kept.found:
        if one.result == KEPT:
            lines.append(f"{one.pool}/{one.name}: kept ({one.why or f'goes to Secret {spec.namespace}/{keys_secret(one.pool)}'}), {one.fingerprint}")
        else:
            lines.append(f"{one.pool}/{one.name}: gets a new key: {one.why}")
    return lines or ["the operator runs no SuperNode"]


def _node_configs(seen: OperatorFederation, spec: SiteSpec) -> list[str]:
    """Each pool: what its apps read today, and what they will."""
    wanted = {pool.name: pool for pool in spec.pools}
    given = {pool["name"]: pool for pool in (seen.resource["spec"].get("supernodes") or {}).get("pools") or []}
    converted = {pool["name"]: pool for pool in from_federation(seen.resource)[2]["variables"]["supernode_pools"]}
    lines = []
    for name, pool in converted.items():
        config = given[name].get("nodeConfig") or {}
        if name not in wanted:
            lines.append(f"{name}: supernode_pools of this site has no such pool")
            continue
        now = wanted[name]
        differ = sorted({key for key in {*config, *now.node_config} if _plain(config.get(key)) != _plain(now.node_config.get(key))})
        other = [key for key, value in config.items() if _SHELL.search(str(value)) and key not in differ]
        lines += [f"{name}: {key} is another one in supernode_pools" if key in config else f"{name}: {key} is added in supernode_pools" for key in differ]
        lines += [f"{name}: {key} arrives as it is written; the operator passes it through a shell, which may change it" for key in other]
        if pool["mode"] != now.mode:
            lines.append(f"{name}: is a {now.mode} in supernode_pools, and was a {pool['mode']}")
        elif pool.get("replicas", 0) != now.replicas and not now.is_daemon:
            lines.append(f"{name}: has {now.replicas} replicas in supernode_pools, and had {pool.get('replicas')}")
        same = [key for key in config if key not in differ and key not in other]
        lines.append(f"{name}: kept: {', '.join(same) or 'there is none'}")
    return lines


def _plain(value: Any) -> Any:
    """A value of a node config in its short form, so that C("3") and C(3) are the same, as they are for the operator."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (int, float)) else value


def _state(seen: OperatorFederation) -> str:
    if seen.superlink is None:
        return "the operator has created no SuperLink: there is none"
    container = operator_federation.container_of(seen.superlink, operator_federation.SUPERLINK)
    database = operator_federation.option(container, "--database") or MEMORY
    new = "The new SuperLink begins with an empty database, and gives every SuperNode a new node id"
    if database == MEMORY:
        return f"in memory: the list of runs ends with the old SuperLink. {new}"
    file = "/" + database.partition("://")[2].lstrip("/") if "://" in database else database
    volume = operator_federation.locate(seen.superlink, container, file, {})[0] or {}
    if "persistentVolumeClaim" in volume:
        own = f"{volume['name']}-{seen.superlink['metadata']['name']}-"
        claims = [name for name in seen.claims if name.startswith(own)]
        claim = (volume["persistentVolumeClaim"] or {}).get("claimName") or ", ".join(claims) or "of its template"
        return f"{database} on PersistentVolumeClaim {claim}, which stays as it is, and is not moved. {new}"
    return f"{database}, on no volume that outlives the pod: it ends with the old SuperLink. {new}"


def _runs(active: Sequence[str] | None, answer: Mapping[str, Any]) -> str:
    if active is None:
        return f"cannot determine which runs are active ({answer.get('why') or 'it was not queried'})"
    return f"active runs: {', '.join(active)}: they end with the old SuperLink, let them finish first" if active else "no run is active"


def _restarts(seen: OperatorFederation, spec: SiteSpec) -> list[str]:
    lines = ["now: none. Nothing of the operator is changed, and its pods continue"]
    old = {name: len(seen.pods_of(workload)) for name, workload in sorted(seen.pools.items())}
    new = [f"{pool.name} {'one for each node' if pool.is_daemon else pool.replicas}" for pool in spec.pools]
    lines.append(f"with site.yml new pods start beside them in namespace {spec.namespace}: {', '.join(new)}")
    lines.append(f"with the last steps these end: the SuperLink, {', '.join(f'{name} {count}' for name, count in old.items()) or 'no SuperNode'}")
    devices: Counter[str] = Counter()
    for pod in (pod for workload in seen.pools.values() for pod in seen.pods_of(workload)):
        for box in pod["spec"].get("containers") or []:
            limits = (box.get("resources") or {}).get("limits") or {}
            devices.update({name: int(count) for name, count in limits.items() if _GPU.fullmatch(name) and str(count).isdecimal()})
    lines += [f"while both run, {count} {name} of the old pods are taken: new ones may wait for them" for name, count in sorted(devices.items())]
    return lines


def _steps(seen: OperatorFederation, kept: ImportedKeys, active: Sequence[str] | None) -> list[str]:
    space = f"kubectl -n {seen.namespace}"
    steps = ["run federated.flower.site, and see the SuperNodes online with federated.flower.status"]
    if active is None or active:
        steps.append("wait until the runs of the old SuperLink have ended")
    steps.append(
        f"{space} delete federation {seen.name}: the operator then deletes its workloads and its Service. Do not scale them: it sets "
        "them back. Do not remove the operator first: its chart also deletes the definition and all Federations"
    )
    whole = sorted(set(kept.sources) - kept.shared)
    if whole:
        steps.append(f"{space} delete secret {' '.join(whole)}: a private key should be in one place only")
    steps += [
        f"delete the entries {', '.join(sorted(kept.sources[name]))} of Secret {name}, and not the Secret: it has others, which are not kept"
        for name in sorted(kept.shared)
    ]
    if seen.claims:
        steps.append(f"PersistentVolumeClaims stay until you delete them: {', '.join(seen.claims)}")
    return steps
