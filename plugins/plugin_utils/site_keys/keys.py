# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Secrets of a site: SuperNode keys, SuperExec secret, loopback certificate. Pure but for randomness.

A private key is created here and only written to the site's Secret; only its public key leaves this module. The
module runs on the controller, or, when keys are created at the site, in a pod there (C(maker.py)): it and what it
imports need nothing but Python and C(cryptography).
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base.certificate_names import local_certificate_names
from ..base.errors import ClusterError
from ..base.labels import POOL_LABEL
from ..base.names import CLIENT_KEY, CONTROLLER, KEY_SOURCE, keys_secret
from ..base.secret_data import entries, secret, written_at
from ..base.values import natural
from ..marks.proof import holder, is_managed
from ..pki import certificates, keypairs, library

KEYS_COMPONENT = "supernode-keys"
SUPEREXEC = "supernode-superexec"
LOCAL_TLS = "supernode-local-tls"
# Secrets that all pods of a site share.
SHARED = (SUPEREXEC, LOCAL_TLS)
# Number of the pool's first pod when the names in its Secret were set; needed to rename them after a move.
OFFSET = "federated.flower/offset"
# On a shared secret that was recreated on request: the mark of that request.
MARK = "federated.flower/secrets-mark"
# On a shared secret that took the place of another: pods that are older may run with that. A rotation, which restarts them itself, sets none.
REPLACED = "federated.flower/replaced"
# The certificate of the sidecars' listeners. Its CA is trusted by the site's SuperNodes and ClientApps only.
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


@dataclass(frozen=True)
class Wanted:
    """What a site must have.

    Attributes:
        pools: its pools.
        dead: fingerprints of keys that Flower, or the hub, takes no more.
        client: name of the site in its client certificate; empty when it needs none.
        listener: name that the sidecars' certificate must have in addition to loopback's; empty when it needs none.
    """

    pools: Sequence[Pool]
    dead: Sequence[str] = ()
    client: str = ""
    listener: str = ""


@dataclass
class SiteKeys:
    """Outcome of C(plan).

    Attributes:
        secrets: Secrets to write, complete.
        keys: public facts of the wanted keys: C(pool), C(name), C(fingerprint), C(public_key).
        extra: pool -> names in its Secret that are no longer wanted.
        client_request: request for the site's client certificate, PEM; empty when it needs none.
        reasons: what was created and why, sentences.
    """

    secrets: list[dict[str, Any]] = field(default_factory=list)
    keys: list[dict[str, str]] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)
    client_request: str = ""
    reasons: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Settled:
    """Outcome of C(settle).

    Attributes:
        kept: name -> key of all existing keys, with their current names; extra and dead ones are among them.
        lacking: wanted names for which a key must be created.
        extra: names that are no longer wanted.
        moved: a sentence when the names changed, else empty.
    """

    kept: dict[str, str]
    lacking: list[str]
    extra: list[str]
    moved: str


def build(
    federation: str,
    namespace: str,
    name: str,
    data: Mapping[str, str],
    *,
    pool: Pool | None = None,
    source: str = CONTROLLER,
    mark: str = "",
    replaced: bool = False,
) -> dict[str, Any]:
    """A Secret of the site; of a pool's keys when C(pool) is set."""
    notes = {} if source == CONTROLLER else {KEY_SOURCE: source}
    notes |= {MARK: mark} if mark else {}
    notes |= {REPLACED: "true"} if replaced else {}
    if pool is None:
        return secret(federation, namespace, name, data, application="supernode", annotations=notes)
    if pool.offset is not None:
        notes[OFFSET] = str(pool.offset)
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


def pool_of(there: Mapping[str, Any]) -> Pool | None:
    """The pool whose keys a live Secret has, with all names in it; None for a Secret of another kind."""
    name = there["metadata"].get("labels", {}).get(POOL_LABEL)
    return Pool(name, sorted(there.get("data") or {}, key=natural), _offset(there)) if name else None


def source_of(there: Mapping[str, Any]) -> str:
    """Where the content of a live Secret was created."""
    return there["metadata"].get("annotations", {}).get(KEY_SOURCE, CONTROLLER)


def mark_of(there: Mapping[str, Any] | None) -> str:
    """The mark of the request on which a live Secret was recreated; empty for none."""
    return ((there or {}).get("metadata", {}).get("annotations") or {}).get(MARK, "")


def replaced_at(there: Mapping[str, Any] | None) -> str:
    """When a live shared secret took the place of another, at the latest; empty if it did not, or the time is not known."""
    return written_at(there) if _is_replaced(there) else ""


def _is_replaced(there: Mapping[str, Any] | None) -> bool:
    return REPLACED in ((there or {}).get("metadata", {}).get("annotations") or {})


def _offset(there: Mapping[str, Any] | None) -> int | None:
    noted = (there or {}).get("metadata", {}).get("annotations", {}).get(OFFSET)
    return None if noted is None else int(noted)


def settle(pool: Pool, held: Mapping[str, str], was: int | None, is_dead: Callable[[str], bool]) -> Settled:
    """Which of a pool's keys stay and which must be created.

    The rules are the same on both sides: at the site a key is the private one, at the control node its public line.

    Args:
        pool: the wanted pool.
        held: name -> key, the existing ones.
        was: number of the first pod when the names were set.
        is_dead: whether Flower takes a key no more.
    """
    kept, moved = dict(held), ""
    if pool.offset is not None and was is not None and was != pool.offset:
        kept = renumber(held, pool.names)
        moved = f"{keys_secret(pool.name)}: its numbers moved from {was} to {pool.offset}"
    lacking = [name for name in pool.names if name not in kept or is_dead(kept[name])]
    return Settled(kept, lacking, sorted(set(kept) - set(pool.names), key=natural), moved)


def renumber(held: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """A pool's keys after its numbers moved: none is lost.

    A number that stays has its key as before: its pod may stay, too, with the key that it read when it started, and another pod with that
    key would be refused. The other keys get the new numbers in their order.
    """
    free = iter([name for name in names if name not in held])
    return {name if name in names else next(free, name): held[name] for name in sorted(held, key=natural)}


def plan(
    federation: str,
    namespace: str,
    pools: Sequence[Pool],
    live: Mapping[str, Mapping[str, Any]],
    dead: Sequence[str] = (),
    client: str = "",
    *,
    listener: str = "",
    source: str = CONTROLLER,
    renew: Mapping[str, str] | None = None,
) -> SiteKeys:
    """Compare the Secrets that a site has with what its pools need; create what is missing.

    Args:
        federation: the federation's name, for labels.
        namespace: the site's namespace.
        pools: the wanted pools.
        live: Secret name -> live Secret, all of the site's.
        dead: fingerprints of keys that Flower, or the hub, takes no more; they are replaced.
        client: name of the site in its client certificate; empty when it needs none.
        listener: name that the sidecars' certificate must have in addition to loopback's; empty when it needs none.
        source: where this runs. What was created elsewhere is recreated: it may still be known there.
        renew: shared secret -> mark of a request to recreate it.
    """
    library.require()
    _refuse_foreign(namespace, [*(keys_secret(pool.name) for pool in pools), *SHARED, CLIENT_KEY], live)
    result = SiteKeys()
    own = {name: there for name, there in live.items() if source_of(there) == source}
    for pool in pools:
        _pool_keys(result, federation, namespace, pool, own.get(keys_secret(pool.name)), set(dead), source)
    wanted = {pool.name for pool in pools}
    has_pods = any(map(pool_of, live.values()))
    for there in live.values():
        held = pool_of(there)
        if held and held.name not in wanted:
            result.extra[held.name] = list(held.names)

    def shared(name: str, needed: set[str], make: Callable[[], dict[str, str]], lacking: str = "") -> None:
        mark = mark_of(own.get(name))
        wanted_mark = (renew or {}).get(name, mark)
        if mark == wanted_mark and needed <= set(entries(own.get(name))) and not lacking:
            return
        why = lacking or "it is recreated"
        why = "it did not exist" if name not in live else "it was created elsewhere" if name not in own else why
        replaced = has_pods and wanted_mark == mark
        result.secrets.append(
            build(federation, namespace, name, make(), source=source, mark=wanted_mark, replaced=replaced)
        )
        result.reasons.append(f"{name}: {why}")

    shared(SUPEREXEC, {"secret"}, lambda: {"secret": keypairs.make_secret()})
    lacking = f"it is not valid for {listener}" if listener and listener not in names_of(own.get(LOCAL_TLS)) else ""
    shared(LOCAL_TLS, {"tls.crt", "tls.key", "ca.crt"}, lambda: _local(namespace), lacking)
    if client:
        _client_key(
            result, federation, namespace, client, entries(own.get(CLIENT_KEY)).get("tls.key"), set(dead), source
        )
    return result


def _refuse_foreign(namespace: str, names: Sequence[str], live: Mapping[str, Mapping[str, Any]]) -> None:
    for name in names:
        if name in live and not is_managed(live[name]):
            raise ClusterError(
                f"Secret {namespace}/{name} exists already and {holder(live[name])}: it is not changed. Delete or rename it, or "
                "deploy into another namespace (supernode_namespace)."
            )


def _local(namespace: str) -> dict[str, str]:
    ca = certificates.make_ca("SuperNode loopback", LOCAL_LIFETIME)
    leaf = certificates.issue(ca, "localhost", local_certificate_names(namespace), LOCAL_LIFETIME)
    return {"tls.crt": leaf.certificate, "tls.key": leaf.key, "ca.crt": ca.certificate}


def names_of(there: Mapping[str, Any] | None) -> list[str]:
    """Names in the certificate of a live Secret; none when there is no certificate."""
    certificate = entries(there).get("tls.crt")
    return list(certificates.describe(certificate)["names"]) if certificate else []


def _client_key(
    result: SiteKeys, federation: str, namespace: str, client: str, held: str | None, dead: set[str], source: str
) -> None:
    reason = "it did not exist"
    if held:
        try:
            request = certificates.client_request(held, client)
        except ValueError as error:
            raise ClusterError(
                f"Secret {namespace}/{CLIENT_KEY} of {client} has no private key ({error}); delete it, and the next run creates "
                "a new key and certificate."
            ) from error
        if certificates.request_fingerprint(request) not in dead:
            result.client_request = request
            return
        reason = "the certificate of the old key was revoked"
    key = keypairs.make_client_key()
    result.client_request = certificates.client_request(key, client)
    result.secrets.append(build(federation, namespace, CLIENT_KEY, {"tls.key": key}, source=source))
    result.reasons.append(f"{CLIENT_KEY}: {reason}")


def _pool_keys(
    result: SiteKeys,
    federation: str,
    namespace: str,
    pool: Pool,
    there: Mapping[str, Any] | None,
    dead: set[str],
    source: str,
) -> None:
    name = keys_secret(pool.name)
    held, was = entries(there), _offset(there)
    settled = settle(pool, held, was, lambda key: keypairs.fingerprint(_public(name, key)) in dead)
    new = {**settled.kept, **{entry: keypairs.make_supernode_key() for entry in settled.lacking}}
    result.keys += [key_facts(pool.name, entry, _public(name, new[entry])) for entry in pool.names]
    if settled.extra:
        result.extra[pool.name] = settled.extra
    if settled.moved:
        result.reasons.append(settled.moved)
    if settled.lacking:
        result.reasons.append(f"{name}: new keys for {', '.join(settled.lacking)}")
    if new != held or was != pool.offset:
        result.secrets.append(build(federation, namespace, name, new, pool=pool, source=source))


def _public(secret_name: str, private_key: str) -> str:
    try:
        return keypairs.supernode_public_key(private_key)
    except ValueError as error:
        raise ClusterError(
            f"Secret {secret_name} contains an entry that is not a SuperNode key ({error}); delete that entry, or the Secret, "
            "and run again: a new key is created."
        ) from None


def key_facts(pool: str, name: str, public_key: str) -> dict[str, str]:
    """Public facts of a key."""
    return {"pool": pool, "name": name, "fingerprint": keypairs.fingerprint(public_key), "public_key": public_key}


def without_extra(there: Mapping[str, Any], names: Sequence[str]) -> dict[str, str] | None:
    """Data of a keys Secret without some names, still base64; None when it would be empty."""
    data = {name: value for name, value in (there.get("data") or {}).items() if name not in names}
    return data or None


def without(federation: str, namespace: str, there: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """A keys Secret without some of its keys, complete."""
    left = entries({"data": without_extra(there, names)})
    name = there["metadata"]["name"]
    return build(
        federation,
        namespace,
        name,
        left,
        pool=pool_of(there),
        source=source_of(there),
        mark=mark_of(there),
        replaced=_is_replaced(there),
    )
