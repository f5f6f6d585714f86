# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which private keys of flower-operator's SuperNodes can be kept. Pure: Secrets are given, nothing is written.

A key is kept if exactly one SuperNode has it: a SuperLink admits one session for each. Private keys leave this module only as
data of the Secret that is written for the pool.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..base.names import SITE, keys_secret
from ..base.secret_data import entries
from ..base.values import natural
from ..pki import certificates, keypairs
from ..site_keys import keys
from ..spec.site_spec import PoolSpec, SiteSpec
from . import operator_federation
from .conversion import Refused
from .operator_federation import Object, OperatorFederation

OPTION = "--auth-supernode-private-key"
KEPT, HERE, NEW = "kept", "is kept already", "new"


@dataclass
class KeyFound:
    """What becomes of one SuperNode's key.

    Attributes:
        name: pod index, or node name in a DaemonSet pool.
        result: C(KEPT), or C(NEW) for a new key.
        why: why it is not kept.
    """

    pool: str
    name: str
    result: str
    why: str = ""
    fingerprint: str = ""

    def facts(self) -> dict[str, str]:
        """For a result. Nothing in it is secret."""
        return asdict(self)


@dataclass
class ImportedKeys:
    """Outcome of C(keep).

    Attributes:
        found: each SuperNode of the operator.
        secrets: Secrets to write, complete.
        sources: name of a Secret of the operator -> its entries with keys that are kept.
        shared: those of these Secrets that have other entries as well.
    """

    found: list[KeyFound] = field(default_factory=list)
    secrets: list[Object] = field(default_factory=list)
    sources: dict[str, set[str]] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)

    def kept_from(self, entry: tuple[str, str]) -> None:
        """Note where a kept key comes from."""
        self.sources.setdefault(entry[0], set()).add(entry[1])

    @property
    def fingerprints(self) -> set[str]:
        """Those of the keys that are kept."""
        return {one.fingerprint for one in self.found if one.result == KEPT}


def names_of(seen: OperatorFederation, workload: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The SuperNodes of a workload: (pod index or node name, node)."""
    pods = seen.pods_of(workload)
    if workload["kind"] == "DaemonSet":
        return sorted({(str(pod["spec"].get("nodeName")),) * 2 for pod in pods if pod["spec"].get("nodeName")})
    nodes = {pod["metadata"]["name"]: str(pod["spec"].get("nodeName", "")) for pod in pods}
    return [(str(index), nodes.get(f"{workload['metadata']['name']}-{index}", "")) for index in range(workload["spec"].get("replicas") or 0)]


def entry_of(workload: Mapping[str, Any], name: str, node: str) -> tuple[str, str]:
    """Where a SuperNode reads its key: the name of a Secret, and of the entry in it.

    Raises:
        Refused: that is not known.
    """
    container = operator_federation.container_of(workload, operator_federation.SUPERNODE)
    given = operator_federation.option(container, OPTION)
    if given is None:
        raise Refused("it has none: without the option, Flower creates a key at each start")
    daemon = workload["kind"] == "DaemonSet"
    pod = "" if daemon else f"{workload['metadata']['name']}-{name}"
    env = operator_federation.environment(container, pod, "" if daemon else name, node)
    file = operator_federation.filled(given, env, shell=operator_federation.has_shell(container))
    if "$" in file or not file.startswith("/"):
        raise Refused(f"the path {file} of its key cannot be resolved")
    volume, path = operator_federation.locate(workload, container, file, env)
    if volume is None:
        raise Refused(f"the path {file} of its key is on no volume")
    for source in [volume, *((volume.get("projected") or {}).get("sources") or [])]:
        secret = source.get("secret") or {}
        items = {item["path"]: item["key"] for item in secret.get("items") or []}
        if secret and (not items or path in items):
            return str(secret.get("secretName") or secret.get("name")), items.get(path, path)
    kind = next((key for key in volume if key != "name"), "unknown")
    raise Refused(f"its key is on a volume of the kind {kind}, which is not read")


def secrets_needed(seen: OperatorFederation) -> list[str]:
    """Names of the Secrets in the operator's namespace that have keys."""
    found = set()
    for workload in seen.pools.values():
        for name, node in names_of(seen, workload):
            with contextlib.suppress(Refused):
                found.add(entry_of(workload, name, node)[0])
    return sorted(found)


def import_keys(
    seen: OperatorFederation, old_secrets: Mapping[str, Object | None], spec: SiteSpec, live: Mapping[str, Object], refused: Mapping[str, str] | None = None
) -> ImportedKeys:
    """Decide for each SuperNode of the operator, and build the Secrets of the pools.

    Args:
        seen: the Federation.
        old_secrets: name -> Secret of the operator's namespace, those of C(secrets_needed).
        spec: the site that its SuperNodes move to.
        live: name -> Secret with keys of SuperNodes that the site has already.
        refused: fingerprint -> why the hub does not take this key from this site.
    """
    outcome = ImportedKeys()
    pools = {pool.name: pool for pool in spec.pools}
    private: dict[tuple[str, str], tuple[str, tuple[str, str]]] = {}  # (pool, name) -> private key, where it is
    for name in sorted(seen.pools):
        for number, node in names_of(seen, seen.pools[name]):
            one = KeyFound(name, number, NEW)
            try:
                _check_pool(spec, seen.pools[name], pools.get(name), number)
                entry = entry_of(seen.pools[name], number, node)
                key = _read(entry, old_secrets)
                one.fingerprint = keypairs.fingerprint(_public(key))
                if why := (refused or {}).get(one.fingerprint):
                    raise Refused(why)
                one.result, private[name, number] = KEPT, (key, entry)
            except Refused as reason:
                one.why = str(reason)
            outcome.found.append(one)
    count = Counter(one.fingerprint for one in outcome.found if one.fingerprint)
    for one in outcome.found:
        if count[one.fingerprint] > 1:
            one.result, one.why = NEW, f"{count[one.fingerprint]} SuperNodes share it, and a SuperLink admits one session for each key"
    _build(outcome, private, spec, live, pools)
    outcome.shared = {name for name, kept in outcome.sources.items() if set((old_secrets[name] or {}).get("data") or {}) - kept}
    return outcome


def shared_key_errors(sites: Mapping[str, ImportedKeys]) -> dict[str, str]:
    """Site -> that one of its keys would be kept for another site as well; sites without such keys are not in it."""
    found = {}
    for name, kept in sites.items():
        others = sorted(other for other, its in sites.items() if other != name and kept.fingerprints & its.fingerprints)
        if others:
            found[name] = (
                f"its Federation has SuperNode keys of that of {', '.join(others)}, or is the same, and a SuperLink admits one session for each key: "
                "let flower_takeover_namespace be set for one of these hosts only, or limit the run to one"
            )
    return found


def _check_pool(spec: SiteSpec, workload: Mapping[str, Any], pool: PoolSpec | None, number: str) -> None:
    """Refuse where the site takes no key for this SuperNode."""
    if spec.insecure:
        raise Refused("with flower_insecure SuperNodes have no keys")
    if spec.key_source == SITE:
        raise Refused("flower_key_source is site: keys are created inside the site, and must not pass through the control node")
    if pool is None:
        raise Refused("supernode_pools of this site has no pool of this name, so the SuperNode has no successor")
    if pool.is_daemon != (workload["kind"] == "DaemonSet"):
        raise Refused(f"the pool is a {pool.mode} in supernode_pools")
    if not pool.is_daemon and int(number) >= pool.replicas:
        raise Refused(f"the pool has {pool.replicas} replicas in supernode_pools, so the SuperNode has no successor")


def _read(place: tuple[str, str], old_secrets: Mapping[str, Object | None]) -> str:
    secret, entry = place
    if old_secrets.get(secret) is None:
        raise Refused(f"there is no Secret {secret}")
    found = entries(old_secrets[secret]).get(entry)
    if not found:
        raise Refused(f"Secret {secret} has no entry {entry} with a key")
    return found


def _public(key: str) -> str:
    """The public line of a private key. No text ever has any of the key."""
    try:
        return keypairs.supernode_public_key(key)
    except certificates.UNREADABLE:
        raise Refused("it is not a key that Flower accepts: OpenSSH format, a NIST curve, no passphrase") from None


def _build(
    outcome: ImportedKeys,
    private: Mapping[tuple[str, str], tuple[str, tuple[str, str]]],
    spec: SiteSpec,
    live: Mapping[str, Object],
    pools: Mapping[str, PoolSpec],
) -> None:
    """Add the Secrets of pools that lack a key which is kept. A key that is there is never replaced: the hub may know it."""
    for pool in sorted({one.pool for one in outcome.found if one.result == KEPT}):
        secret = keys_secret(pool)
        there = live.get(secret)
        offset = None if pools[pool].is_daemon else int(((there or {}).get("metadata", {}).get("annotations") or {}).get(keys.OFFSET, 0))
        have = entries(there)
        data = dict(have)
        for one in outcome.found:
            if one.pool != pool or one.result != KEPT:
                continue
            key, source = private[pool, one.name]
            name = one.name if offset is None else str(offset + int(one.name))
            if name not in have:
                data[name] = key
                outcome.kept_from(source)
            elif have[name] == key:
                one.why = HERE
                outcome.kept_from(source)
            else:
                one.result, one.why = NEW, "this site has another key for it already, which is not replaced"
        if data != have:
            ordered: Iterable[str] = sorted(data, key=natural)
            shape = keys.Pool(pool, list(ordered), offset)
            outcome.secrets.append(keys.build(spec.federation, spec.namespace, secret, {name: data[name] for name in ordered}, pool=shape))
