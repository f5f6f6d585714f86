# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""§3: a Certificate becomes a Secret of its name, signed by the authority in the Secret that it names."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from . import pki
from .conditions import READY, ok_or
from .crds import API_VERSION
from .kube import ApiError, Object
from .space import CONTROLLED, Space, owned_by, owner
from .switches import SECONDS, annotation


def want(
    space: Space,
    name: str,
    subject: str,
    *,
    ca: str = "",
    hosts: Sequence[str] = (),
    owners: list[Object],
) -> None:
    """Make or change a Certificate of the controller's own; an authority if it has no ``ca``."""
    spec: Object = {"ca": ca, "subject": subject, **({"server": True} if ca else {"signing": True})}
    if hosts:
        spec["hosts"] = list(hosts)
    have = space.get("Certificate", name)
    if have is None:
        data = {"name": name, "annotations": {CONTROLLED: "true"}, "ownerReferences": owners}
        try:
            space.create({"apiVersion": API_VERSION, "kind": "Certificate", "metadata": data, "spec": spec})
        except ApiError as error:
            if error.status != 409:
                raise
    elif {**have["spec"], "hosts": sorted(have["spec"].get("hosts", []))} != {**spec, "hosts": sorted(hosts)}:
        space.replace({**have, "spec": spec})


def check(space: Space, *, resync: bool) -> None:
    """Look after the Secrets of all Certificates, the authorities' first. §1: only Ready is ever set."""
    found = sorted(space.all("Certificate"), key=lambda item: not item["spec"].get("signing"))
    for item in found:
        # §3: looked at when it was changed, and at every resync. A Secret that vanished is not noticed in between.
        status = space.status(item)
        seen = next((one for one in status.value.get("conditions", []) if one["type"] == READY), None)
        fresh = seen is None or seen["observedGeneration"] != item["metadata"]["generation"]
        if not (fresh or resync or seen["status"] == "False"):
            continue
        trouble = _reconcile(space, item)
        status.condition(READY, ok_or(trouble))
        space.flush(item)


def _reconcile(space: Space, item: Object) -> str | None:
    """Returns what is wrong, or None."""
    name = item["metadata"]["name"]
    secret = space.get("Secret", name) or space.client.get("Secret", space.name, name)
    if secret is not None and _fits(item, secret):
        return None
    if secret is not None and not _ours(item, secret):
        return "Secret exists but is not controlled by skupper"  # §3, bring your own
    issuer = None
    if not item["spec"].get("signing"):
        ca = item["spec"]["ca"]
        issuer = space.get("Secret", ca)
        if issuer is None:
            return f'CA "{space.name}/{ca}" not found'
    seconds = float(annotation(item, SECONDS) or space.switches.certificate_seconds)
    lifetime = datetime.timedelta(seconds=seconds) if seconds else pki.LIFETIME
    try:
        data = pki.make(item["spec"]["subject"], item["spec"].get("hosts", []), issuer, lifetime)
    except pki.SigningError as error:
        return str(error)
    if secret is not None:
        space.replace({**secret, "data": data})
        space.log(f"{space.name}: renewed Secret {name}, serial={pki.serial({'data': data})}")
        return None
    metadata = {
        "name": name,
        "annotations": {
            CONTROLLED: "true",
            "internal.skupper.io/certificate": "true",
            "internal.skupper.io/hosts": ",".join(item["spec"].get("hosts", [])),
        },
        "ownerReferences": [owner(item)],
    }
    space.create(
        {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": metadata, "data": data}
    )
    return None


def _fits(item: Object, secret: Object) -> bool:
    """§3: not expired, the same CN, all hosts. Who signed it does not matter, nor what ca.crt says."""
    leaf = pki.certificate(secret)
    return (
        leaf is not None
        and leaf.not_valid_after_utc > datetime.datetime.now(datetime.timezone.utc)
        and pki.common_name(leaf) == item["spec"]["subject"]
        and set(item["spec"].get("hosts", [])) <= pki.hosts_of(leaf)
    )


def _ours(item: Object, secret: Object) -> bool:
    """§3: by annotation, or because it belongs to the Certificate."""
    return CONTROLLED in (secret["metadata"].get("annotations") or {}) or owned_by(secret, item["metadata"]["uid"])
