# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Secrets of a site: SuperNode keys, SuperExec secret, loopback certificate. Pure but for randomness.

A private key is made here, goes into the site's Secret and nowhere else; only its public half leaves this module.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import pki
from ..cluster import ClusterError
from ..ledger.records import natural
from ..manifests.common import POOL_LABEL
from ..manifests.sidecar import CLIENT_KEY
from ..manifests.supernode import keys_secret
from ..secrets import entries, secret

KEYS_COMPONENT = "supernode-keys"
SUPEREXEC = "supernode-superexec"
LOCAL_TLS = "supernode-local-tls"
# Number of the pool's first pod when the names in its Secret were given; tells how to rename them after a move.
OFFSET = "federated.flower/offset"
# The loopback certificate never leaves its pod; it is trusted by the SuperNode beside it and by nobody else.
LOCAL_LIFETIME = datetime.timedelta(days=3650)


@dataclass(frozen=True)
class Pool:
    """What the keys of a pool depend on.

    Attributes:
        name: the pool's name.
        names: entries of its Secret: pod indexes, or node names in a DaemonSet pool.
        offset: number of its first pod; None in a DaemonSet pool.
    """

    name: str
    names: Sequence[str]
    offset: int | None = None


@dataclass
class SiteKeys:
    """Outcome of C(plan).

    Attributes:
        secrets: Secrets that have to be written, complete.
        keys: public facts of the wanted keys: C(pool), C(name), C(fingerprint), C(public_key).
        extra: pool -> names in its Secret that are no longer wanted.
        client_request: request for the site's client certificate, PEM; empty when it needs none.
        reasons: what was made and why, sentences.
    """

    secrets: list[dict[str, Any]] = field(default_factory=list)
    keys: list[dict[str, str]] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)
    client_request: str = ""
    reasons: list[str] = field(default_factory=list)


def build(
    federation: str, namespace: str, name: str, data: Mapping[str, str], *, pool: Pool | None = None
) -> dict[str, Any]:
    """A Secret of the site; of a pool's keys when C(pool) is given."""
    if pool is None:
        return secret(federation, namespace, name, data, application="supernode")
    notes = None if pool.offset is None else {OFFSET: str(pool.offset)}
    return secret(
        federation,
        namespace,
        name,
        data,
        application="supernode",
        component=KEYS_COMPONENT,
        labels={POOL_LABEL: pool.name},
        annotations=notes,
    )


def renumber(held: Mapping[str, str], was: int, now: int) -> dict[str, str]:
    """Names of a pool's keys after its numbers moved: each replica keeps its key."""
    return {str(int(name) - was + now): key for name, key in held.items()}


def plan(
    federation: str,
    namespace: str,
    pools: Sequence[Pool],
    live: Mapping[str, Mapping[str, Any]],
    dead: Sequence[str] = (),
    client: str = "",
) -> SiteKeys:
    """Compare the Secrets that a site has with what its pools need; make what is missing.

    Args:
        federation: the federation's name, for labels.
        namespace: the site's namespace.
        pools: the wanted pools.
        live: Secret name -> live Secret, all of the site's.
        dead: fingerprints of keys that Flower, or the hub, takes no more; they are replaced.
        client: name of the site in its client certificate; empty when it needs none.
    """
    pki.require()
    result = SiteKeys()
    for pool in pools:
        _pool_keys(result, federation, namespace, pool, live.get(keys_secret(pool.name)), set(dead))
    wanted = {pool.name for pool in pools}
    for there in live.values():
        name = there["metadata"].get("labels", {}).get(POOL_LABEL)
        if name and name not in wanted:
            result.extra[name] = sorted(entries(there), key=natural)
    if "secret" not in entries(live.get(SUPEREXEC)):
        result.secrets.append(build(federation, namespace, SUPEREXEC, {"secret": pki.make_secret()}))
        result.reasons.append(f"{SUPEREXEC}: there was none")
    if not {"tls.crt", "tls.key", "ca.crt"} <= set(entries(live.get(LOCAL_TLS))):
        ca = pki.make_ca("SuperNode loopback", LOCAL_LIFETIME)
        leaf = pki.issue(ca, "localhost", ["localhost", "127.0.0.1"], LOCAL_LIFETIME)
        data = {"tls.crt": leaf.certificate, "tls.key": leaf.key, "ca.crt": ca.certificate}
        result.secrets.append(build(federation, namespace, LOCAL_TLS, data))
        result.reasons.append(f"{LOCAL_TLS}: there was none")
    if client:
        _client_key(result, federation, namespace, client, entries(live.get(CLIENT_KEY)).get("tls.key"), set(dead))
    return result


def _client_key(
    result: SiteKeys, federation: str, namespace: str, client: str, held: str | None, dead: set[str]
) -> None:
    reason = "there was none"
    if held:
        try:
            request = pki.client_request(held, client)
        except ValueError as error:
            raise ClusterError(
                f"Secret {namespace}/{CLIENT_KEY} of {client} holds no private key ({error}); delete it, and the next run makes "
                "a new key and certificate."
            ) from error
        if pki.request_fingerprint(request) not in dead:
            result.client_request = request
            return
        reason = "the certificate of the old key was revoked"
    key = pki.make_client_key()
    result.client_request = pki.client_request(key, client)
    result.secrets.append(build(federation, namespace, CLIENT_KEY, {"tls.key": key}))
    result.reasons.append(f"{CLIENT_KEY}: {reason}")


def _pool_keys(
    result: SiteKeys, federation: str, namespace: str, pool: Pool, there: Mapping[str, Any] | None, dead: set[str]
) -> None:
    held = entries(there)
    was = (there or {}).get("metadata", {}).get("annotations", {}).get(OFFSET)
    if pool.offset is not None and was is not None and int(was) != pool.offset:
        held = renumber(held, int(was), pool.offset)
        result.reasons.append(f"{keys_secret(pool.name)}: its numbers moved from {was} to {pool.offset}")
    new = dict(held)
    made = []
    for name in pool.names:
        public = pki.supernode_public_key(held[name]) if name in held else None
        if public is None or pki.fingerprint(public) in dead:
            new[name] = pki.make_supernode_key()
            public = pki.supernode_public_key(new[name])
            made.append(name)
        result.keys.append(
            {"pool": pool.name, "name": name, "fingerprint": pki.fingerprint(public), "public_key": public}
        )
    extra = sorted(set(held) - set(pool.names), key=natural)
    if extra:
        result.extra[pool.name] = extra
    if made:
        result.reasons.append(f"{keys_secret(pool.name)}: new keys for {', '.join(made)}")
    if new != entries(there) or (pool.offset is not None and was != str(pool.offset)):
        result.secrets.append(build(federation, namespace, keys_secret(pool.name), new, pool=pool))


def without_extra(there: Mapping[str, Any], names: Sequence[str]) -> dict[str, str] | None:
    """Data of a keys Secret without some names, still base64; None when nothing would be left."""
    data = {name: value for name, value in (there.get("data") or {}).items() if name not in names}
    return data or None
