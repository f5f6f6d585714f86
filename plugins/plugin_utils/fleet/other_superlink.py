# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SuperNodes that join a SuperLink which is not in the inventory (C(supernode_superlink)).

There is no hub: numbers are of the site alone, the administrator of the SuperLink registers the public keys, and what is known of a SuperNode is what
its pod reports. A SuperNode whose key is not registered ends after a few seconds, and Kubernetes starts it again until it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..base.errors import ClusterError
from ..base.formats import named_hosts
from ..base.problems import require
from ..base.secret_data import entries
from ..base.values import integer, text
from ..checks.site_rules import render_problems
from ..kube.client import Cluster
from ..manifests import supernode
from ..sites.site import ACCEPTED_SECONDS, Facts, KeyResult, Restart, Site, SiteBackend
from .clientapps import apply_apps
from .outcome import Outcome, Outcomes, RecordedRun

_SHOWN = 5


def complete(site: Site, cluster: Cluster) -> None:
    """Fill in what a hub says otherwise: the numbers of its SuperNodes, and the CA bundle where it is in a Secret.

    Raises:
        ClusterError: the number of partitions is too small, or the Secret has no CA bundle.
    """
    given, spec = site.given["superlink"], site.spec
    number = integer(given.get("first_partition")) or 0
    ranges = [pool for pool in spec.pools if pool.has_range]
    end = number + sum(pool.replicas for pool in ranges)
    partitions = integer(site.given.get("partitions")) or max(end, 1)
    if end > partitions:
        raise ClusterError(
            f"supernode_partitions: {partitions} is too small: the SuperNodes of the site have the numbers {number} to {end - 1} "
            f"(supernode_superlink.first_partition is {number})."
        )
    allocation = {pool.name: {"offset": 0, "partitions": partitions} for pool in spec.pools}
    for pool in ranges:
        allocation[pool.name]["offset"] = number
        number += pool.replicas
    bundle, name = spec.ca_bundle, text(given.get("ca_secret"))
    if name and not spec.insecure:
        bundle = entries(cluster.get("v1", "Secret", name, site.namespace)).get("ca.crt", "")
        if not bundle:
            raise ClusterError(f"Secret {site.namespace}/{name} (supernode_superlink.ca_secret) does not exist, or has no ca.crt: create it first.")
    site.spec = replace(spec, allocation=allocation, ca_bundle=bundle)


def deploy(
    run: RecordedRun, sites: Mapping[str, Site], backends: Mapping[str, SiteBackend], outcomes: Outcomes, *, renew: bool = False, apps_alone: bool = False
) -> None:
    """Deploy sites; what is known of their SuperNodes is in the outcome of each.

    Args:
        renew: replace the keys, in two runs: the first one makes new keys, which are registered then, and the next one restarts the SuperNodes with them.
        apps_alone: deploy nothing but ClientApps in their own pods.
    """

    def one(name: str) -> None:
        site, backend, outcome = sites[name], backends[name], outcomes[name]
        backend.detect_platform()
        complete(site, backend.cluster)
        require(render_problems(site.spec))
        if apps_alone:
            apply_apps(backend, site, lambda: None, outcomes)
            return
        keys = _make_keys(run, backend, site, (), outcomes)
        done = backend.apply(supernode.objects(site.spec), lambda: None)
        outcomes.add(name, done)
        if done.failed:
            raise ClusterError(done.msg)
        words, is_new = "", False
        if renew and keys.keys:
            restarted = _restart(backend, site, keys.keys, outcome)
            words = f"{len(restarted)} SuperNodes {'would restart' if run.check else 'restarted'} with their new keys: unregister their previous nodes. "
            if is_new := not restarted:
                keys = _make_keys(run, backend, site, [key["fingerprint"] for key in keys.keys], outcomes)
                words = "new keys were created. SuperNodes use them once they are registered and rotate_certs has run again. "
        if keys.extra and not run.check:
            backend.drop_keys(keys.extra)
        outcome.changed |= bool(keys.extra) | _write_keys(site, keys.keys, check=run.check)
        shown = [{name: key[name] for name in ("pool", "name", "fingerprint", "public_key")} for key in keys.keys]
        is_foreseen = run.check and keys.changed  # keys that are made in check mode are not kept
        outcome.facts = {"superlink": site.spec.superlink_address, "public_keys": [] if is_foreseen else shown}
        if run.check:
            outcome.msg = words or done.msg
            return
        expected = sum(key["expected"] for key in keys.keys) if keys.keys else sum(pool.replicas for pool in site.spec.pools)
        accepted, seen = backend.accepted(keys.keys, expected)
        outcome.msg = f"{words}{accepted} of {expected} SuperNodes have been running for {ACCEPTED_SECONDS} s"
        if keys.keys and (is_new or accepted < expected):
            words += f"{_registration(site, keys.keys)} {seen}"
        if words:
            outcome.warnings.append(named_hosts(name, words.strip()))

    outcomes.each(one, sites)


def _make_keys(run: RecordedRun, backend: SiteBackend, site: Site, dead: Sequence[str], outcomes: Outcomes) -> KeyResult:
    keys = backend.make_keys(site.spec.allocation, dead)
    outcomes.add(site.name, keys)
    if run.check and keys.changed:
        run.note(site.name, words=[f"keys: {keys.msg}"])
    return keys


def _restart(backend: SiteBackend, site: Site, keys: Sequence[Facts], outcome: Outcome) -> list[str]:
    """Restart SuperNodes that run with former keys; returns their pods.

    Raises:
        ClusterError: they are not ready in time.
    """
    result: Facts = {"changed": False, "restarted": [], "renewed": False}
    try:
        backend.restart(Restart(["key"], "", lambda: None, lambda _pool: None), result)
    except ClusterError as error:
        raise ClusterError(f"{error.message}. {_registration(site, keys)}") from error
    finally:
        outcome.changed |= result["changed"]
    return list(result["restarted"])


def _registration(site: Site, keys: Sequence[Facts]) -> str:
    """What the administrator of the SuperLink has to do."""
    files = [path.name for path, _text in _key_files(site, keys)]
    shown = ", ".join(files[:_SHOWN]) + (f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else "")
    return (
        f"the administrator of {site.spec.superlink_address} registers these keys, which are in {_folder(site)}, unless that was done: {shown} "
        "(flwr supernode register FILE). SuperNodes connect by themselves then."
    )


def _folder(site: Site) -> Path:
    return Path(text(site.given["superlink"].get("public_keys")) or "public-keys").expanduser()


def _key_files(site: Site, keys: Sequence[Facts]) -> list[tuple[Path, str]]:
    """The files with public keys, and their texts."""
    return [(_folder(site) / f"{site.name}-{key['pool']}-{key['name']}.pub", f"{key['public_key'].strip()}\n") for key in keys]


def _write_keys(site: Site, keys: Sequence[Facts], *, check: bool) -> bool:
    """Write the public keys; whether a file differed."""
    try:
        differ = [(path, line) for path, line in _key_files(site, keys) if not path.exists() or path.read_text(encoding="utf-8") != line]
        for path, line in () if check else differ:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(line, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ClusterError(f"the public keys cannot be written (supernode_superlink.public_keys): {error}.") from error
    return bool(differ)
