# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The reply of a site that gives no access: what it publishes about its keys, bound to one version of its bundle and signed with every key.

The job of the site seals it (C(seal)), and the control node opens the file that the site sent (C(opened)). Pure.

The ConfigMap C(supernode-public) then has two more entries: C(fingerprint), which people compare by voice, and C(reply.json)::

    {"binding": {"federation": "flower", "site": "site-a", "hub": "1f0c…", "version": 2, "nonce": "9a41…"},
     "trust": "9f86…",                              SHA-256 of the CA bundle in the site's cluster
     "signatures": {"cpu/0": "MGUC…", "client": "MEUC…"}}

Each private key signs the same statement: the binding, that digest, and C(public.json) as it is. So a reply cannot be used for another
site, federation or version, no key in it can be replaced, and each key is proven to be the site's.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base import foreign_data
from ..base.errors import ClusterError
from ..base.names import CLIENT_KEY, PUBLIC_KEYS
from ..base.secret_data import entries
from ..pki import certificates, keypairs, signatures
from . import keys, public

ENTRY, FINGERPRINT = "reply.json", "fingerprint"
CLIENT = "client"
_PARTS = ("federation", "site", "hub", "nonce")


@dataclass(frozen=True)
class Reply:
    """A reply whose signatures fit.

    Attributes:
        binding: what it answers.
        trust: SHA-256 of the CA bundle in the site's cluster, hex.
        fingerprint: for people.
        there: the part of the ConfigMap that is kept.
    """

    binding: dict[str, Any]
    trust: str
    fingerprint: str
    there: dict[str, Any] = field(default_factory=dict)


def seal(record: dict[str, Any], binding: Mapping[str, Any], trust: bytes, secrets: Mapping[str, Mapping[str, Any]]) -> str:
    """Add the entries to the ConfigMap of C(public.record); returns the fingerprint.

    Args:
        record: the ConfigMap.
        binding: what it answers.
        trust: the CA bundle in the site's cluster.
        secrets: name -> live Secret, those of the record.
    """
    digest = hashlib.sha256(trust).hexdigest() if trust else ""
    content = _statement(binding, digest, record["data"][public.ENTRY])
    found = {}
    for there in secrets.values():
        pool = keys.pool_of(there)
        for name, key in entries(there).items() if pool else ():
            found[f"{pool.name if pool else ''}/{name}"] = _sign(content, key)
    client = entries(secrets.get(CLIENT_KEY)).get("tls.key")
    if client:
        found[CLIENT] = _sign(content, client)
    sealed = {"binding": dict(binding), "trust": digest, "signatures": found}
    print_ = fingerprint(content)
    record["data"] |= {ENTRY: json.dumps(sealed, indent=1, sort_keys=True), FINGERPRINT: print_}
    return print_


def opened(there: Any) -> Reply:
    """The reply in a ConfigMap that a site sent.

    Raises:
        ClusterError: it is not one, or was changed.
    """
    try:
        meta, data = there["metadata"], there["data"]
        if (there["kind"], meta["name"]) != ("ConfigMap", PUBLIC_KEYS):
            raise ValueError(f"it is not the ConfigMap {PUBLIC_KEYS}")
        published, sealed = data[public.ENTRY], foreign_data.read_json(data[ENTRY])
        binding, trust, found = sealed["binding"], sealed["trust"], sealed["signatures"]
        if not all(isinstance(binding[part], str) for part in _PARTS) or not isinstance(binding["version"], int):
            raise ValueError("it does not say what it answers")
        owners = [{"kind": one["kind"], "name": one["name"]} for one in meta.get("ownerReferences") or []]
        place = meta.get("namespace") or ""
        if not all(isinstance(one, str) for one in [trust, published, place, *(word for one in owners for word in one.values())]):
            raise ValueError("a part of it that is text has another form")
        kept = {"metadata": {"namespace": place, "ownerReferences": owners}, "data": {public.ENTRY: published}}
        content = _statement(binding, trust, published)
        reported = foreign_data.read_json(published)
        signers = {
            f"{pool}/{name}": keypairs.check_supernode_key(key["public_key"])
            for pool, listed in reported["pools"].items()
            for name, key in listed["keys"].items()
        }
        if reported.get("client"):
            certificates.request_fingerprint(reported["client"]["request"])  # raises when the request is not signed by its key
            signers[CLIENT] = reported["client"]["request"]
        for name, line in signers.items():
            if not signatures.is_signed_with(content, base64.b64decode(found.get(name, ""), validate=True), line):
                raise ValueError(f"the key {name[:80]!r} has not signed it: it was changed on its way")
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ClusterError(
            f"it is not a reply of a site's job ({_words(error)}). Let the site send the file again: "
            f"kubectl get configmap {PUBLIC_KEYS} -n NAMESPACE -o json > reply.json"
        ) from error
    if not signers:
        raise ClusterError("it has no keys: the job of the site has not created any")
    return Reply(dict(binding), trust, fingerprint(content), kept)


def fingerprint(content: bytes) -> str:
    """What people compare: 128 bits in groups of four."""
    digits = hashlib.sha256(content).hexdigest()[:32].upper()
    return " ".join(digits[at : at + 4] for at in range(0, 32, 4))


def _statement(binding: Mapping[str, Any], trust: str, published: str) -> bytes:
    said = {"binding": dict(binding), "trust": trust, "public": published}
    return json.dumps(said, sort_keys=True, separators=(",", ":")).encode("ascii")


def _sign(content: bytes, key: str) -> str:
    return base64.b64encode(signatures.sign(content, key)).decode("ascii")


def _words(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else foreign_data.cleaned(str(error), 200) or type(error).__name__
