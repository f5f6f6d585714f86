# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""§3, rotation: each change of a TLS Secret's data is a new revision of it; the router is told which are still valid."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from .kube import Object
from .space import Revision, Space

PRIOR = "skupper.io/tls-prior-valid-revisions"  # annotation of a Secret; wins over the Site's setting
SETTING = "tls-prior-valid-revisions"
DEFAULT = 2  # §3: the documentation says 1
CONTEXT = "internal.skupper.io/tls-profile-context"


def update(space: Space, names: Iterable[str], before: Object) -> Object:
    """Revisions of the Secrets in use, for the router's configuration; ``before`` is what that said last.

    The number is noted on the Secret, too: so the router knows which revision the data is that it reads.
    """
    wanted = set(names)
    for name in set(space.revisions) - wanted:
        del space.revisions[name]
        secret = space.get("Secret", name)
        if secret is not None:
            space.annotate(secret, {CONTEXT: None})
    for name in wanted:
        known = before.get(name, {})
        have = space.revisions.setdefault(name, Revision(known.get("ordinal", 0), known.get("oldest", 0)))
        secret = space.get("Secret", name)
        if secret is None:
            continue
        digest = hashlib.sha256(json.dumps(secret.get("data"), sort_keys=True).encode()).hexdigest()
        if have.digest and have.digest != digest:
            have.ordinal += 1
            space.log(f"{space.name}: Secret {name} is at revision {have.ordinal}")
        have.digest = digest
        have.oldest = max(have.oldest, have.ordinal - _prior(space, secret))
        space.annotate(secret, {CONTEXT: json.dumps([{"profileName": name, "ordinal": have.ordinal}])})
    return {name: {"ordinal": one.ordinal, "oldest": one.oldest} for name, one in sorted(space.revisions.items())}


def _prior(space: Space, secret: Object) -> int:
    assert space.site is not None
    settings = space.site["spec"].get("settings") or {}
    for text in ((secret["metadata"].get("annotations") or {}).get(PRIOR), settings.get(SETTING)):
        if text is not None and text.isdecimal():
            return int(text)
    return DEFAULT
