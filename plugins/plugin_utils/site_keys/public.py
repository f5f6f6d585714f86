# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a site publishes about keys that it created itself: ConfigMap C(supernode-public), public keys only. Pure.

The ConfigMap is written at the site (C(maker.py)) and read by the controller, which needs no right on Secrets there. It
also shows which of the Secrets still exist: all of them are its owners, and Kubernetes removes a deleted owner
out of C(ownerReferences), and the ConfigMap away with the last one
(https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents; graph_builder and
garbagecollector of kube-controller-manager, C(attemptToDeleteItem)).

Shape of the entry C(public.json)::

    {"pools": {"cpu": {"offset": 0, "keys": {"0": {"public_key": "ecdsa-…", "fingerprint": "SHA256:…"}}}},
     "client": {"name": "site-a", "request": "-----BEGIN CERTIFICATE REQUEST-----…"},
     "versions": {"supernode-cpu-keys": "1234"},
     "digests": {"supernode-cpu-keys": {"0": "9f86…"}},
     "marks": {"supernode-superexec": "1a2b"},
     "replaced": {"supernode-local-tls": "2026-11-21T10:00:00Z"},
     "names": ["localhost", "127.0.0.1", "*.flower.svc"]}

C(offset) is null in a DaemonSet pool; C(client) is there when the site has a client key; C(versions) are the Secrets'
resource versions, which show what was rewritten. C(digests) (SHA-256 of each entry, each too random to be
guessed) show whether a pod runs with the content of its Secret. C(marks) are those of requests to recreate a shared
secret; C(replaced) says when one took the place of another, by the site's API server; C(names) are those in the
sidecars' certificate.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base import foreign_data
from ..base.errors import ClusterError
from ..base.labels import record_labels
from ..base.names import CLIENT_KEY, PUBLIC_KEYS, keys_secret
from ..base.secret_data import entries
from ..base.values import natural
from ..pki import certificates, keypairs
from . import keys

COMPONENT = "supernode-public"
ENTRY = "public.json"


@dataclass(frozen=True)
class Public:
    """What the site publishes.

    Attributes:
        pools: pools whose Secret exists, with the names of all keys in it.
        lines: pool -> name -> public line.
        versions: Secret that exists -> its resource version when the site wrote this.
        digests: Secret that exists -> entry -> SHA-256 of it, hex.
        marks: Secret that exists -> the mark of the request on which it was recreated; without those that were not.
        client: name of the site in C(client_request).
        client_request: request for its client certificate, PEM; empty when it has no client key.
        names: names in the certificate of its sidecars.
        replaced: shared secret that exists and took the place of another -> when, at the latest.
    """

    pools: Sequence[keys.Pool] = ()
    lines: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    client: str = ""
    client_request: str = ""
    digests: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    marks: Mapping[str, str] = field(default_factory=dict)
    names: Sequence[str] = ()
    replaced: Mapping[str, str] = field(default_factory=dict)

    @property
    def offsets(self) -> dict[str, int | None]:
        """Pool -> number of its first pod when its keys were named."""
        return {pool.name: pool.offset for pool in self.pools}


def record(
    federation: str,
    namespace: str,
    secrets: Mapping[str, Mapping[str, Any]],
    client: str = "",
    client_request: str = "",
) -> dict[str, Any]:
    """The ConfigMap for these Secrets (name -> live Secret) and this request."""
    pools = {}
    for there in secrets.values():
        pool = keys.pool_of(there)
        if pool:
            public = {name: keypairs.supernode_public_key(key) for name, key in entries(there).items()}
            pools[pool.name] = {
                "offset": pool.offset,
                "keys": {
                    name: {"public_key": public[name], "fingerprint": keypairs.fingerprint(public[name])}
                    for name in pool.names
                },
            }
    reported: dict[str, Any] = {
        "pools": pools,
        "versions": {name: there["metadata"]["resourceVersion"] for name, there in secrets.items()},
        "digests": {name: _digests(there) for name, there in secrets.items()},
        "marks": {name: keys.mark_of(there) for name, there in secrets.items() if keys.mark_of(there)},
        "names": keys.names_of(secrets.get(keys.LOCAL_TLS)),
    }
    replaced = {name: keys.replaced_at(there) for name, there in secrets.items() if keys.replaced_at(there)}
    if replaced:
        reported["replaced"] = replaced
    if client_request:
        reported["client"] = {"name": client, "request": client_request}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": PUBLIC_KEYS,
            "namespace": namespace,
            "labels": record_labels(federation, "supernode", COMPONENT),
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Secret", "name": name, "uid": there["metadata"]["uid"]}
                for name, there in sorted(secrets.items())
            ],
        },
        "data": {ENTRY: json.dumps(reported, indent=1, sort_keys=True)},
    }


def read(there: Mapping[str, Any] | None) -> Public:
    """The content of a live ConfigMap; empty when there is none.

    Raises:
        ClusterError: when someone else wrote it.
    """
    if there is None:
        return Public()
    standing = {owner["name"] for owner in there["metadata"].get("ownerReferences", []) if owner["kind"] == "Secret"}
    try:
        reported = foreign_data.read_json(there["data"][ENTRY])
        lines = {
            pool: {name: keypairs.check_supernode_key(key["public_key"]) for name, key in found["keys"].items()}
            for pool, found in reported["pools"].items()
            if keys_secret(pool) in standing
        }
        client = reported.get("client") if CLIENT_KEY in standing else None
        if client:
            certificates.request_fingerprint(client["request"])  # raises when it is none
        return Public(
            [keys.Pool(pool, list(lines[pool]), reported["pools"][pool]["offset"]) for pool in sorted(lines)],
            lines,
            {name: version for name, version in reported["versions"].items() if name in standing},
            client["name"] if client else "",
            client["request"] if client else "",
            {name: found for name, found in reported["digests"].items() if name in standing},
            {name: mark for name, mark in reported["marks"].items() if name in standing},
            reported.get("names") or [],  # a site of an older release publishes none
            {name: str(at) for name, at in (reported.get("replaced") or {}).items() if name in standing},
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ClusterError(
            f"ConfigMap {PUBLIC_KEYS} in namespace {there['metadata']['namespace']} was not written by the site's Job "
            f"({type(error).__name__}: {error}); delete it and run again: it is recreated from the Secrets."
        ) from error


def _digests(there: Mapping[str, Any]) -> dict[str, str]:
    return {name: hashlib.sha256(value.encode("ascii")).hexdigest() for name, value in entries(there).items()}


def survey(wanted: keys.Wanted, public: Public) -> keys.SiteKeys:
    """Compare what a site publishes with what its pools need, as C(keys.plan) does at the site.

    Returns:
        The valid keys and request, the extra keys, and in C(reasons) why the site's job must run; no C(secrets).
    """
    result = keys.SiteKeys()
    for pool in wanted.pools:
        name = keys_secret(pool.name)
        held = public.lines.get(pool.name, {})
        was = public.offsets.get(pool.name)
        settled = keys.settle(pool, held, was, lambda line: keypairs.fingerprint(line) in wanted.dead)
        result.keys += [
            keys.key_facts(pool.name, entry, settled.kept[entry])
            for entry in pool.names
            if entry not in settled.lacking
        ]
        if settled.extra:
            result.extra[pool.name] = settled.extra
        if settled.moved:
            result.reasons.append(settled.moved)
        if name not in public.versions:
            result.reasons.append(f"{name}: it does not exist")
        elif settled.lacking:
            result.reasons.append(f"{name}: no valid keys for {', '.join(settled.lacking)}")
        elif was != pool.offset and not settled.moved:
            result.reasons.append(f"{name}: its numbers are not recorded")
    for pool in public.pools:
        if pool.name not in {one.name for one in wanted.pools}:
            result.extra[pool.name] = sorted(pool.names, key=natural)
    result.reasons += [f"{name}: it does not exist" for name in keys.SHARED if name not in public.versions]
    if wanted.listener and keys.LOCAL_TLS in public.versions and wanted.listener not in public.names:
        result.reasons.append(f"{keys.LOCAL_TLS}: it is not valid for {wanted.listener}")
    if wanted.client and not public.client_request:
        result.reasons.append(f"{CLIENT_KEY}: it does not exist")
    elif wanted.client and certificates.request_fingerprint(public.client_request) in wanted.dead:
        result.reasons.append(f"{CLIENT_KEY}: the certificate of the old key was revoked")
    elif wanted.client:
        result.client_request = public.client_request
    return result
