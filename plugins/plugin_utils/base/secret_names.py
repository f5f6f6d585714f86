# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which values that users give look like secrets. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

#: Names of environment variables and keys of a node config whose values look like secrets; no settings of tokenizers.
_NAME = re.compile(
    r"PASSW|PASSPHRASE|SECRET|TOKEN(?!I[SZ])|CREDENTIAL|(API|ACCESS|LICENSE|PRIVATE)[_-]?KEY|[_-](PASS|PWD)$|^PGPASS$", re.IGNORECASE
)
#: Names of what says where a secret is, and is none.
_PLACE = re.compile(r"[_-](FILE|PATH|DIR)$", re.IGNORECASE)
#: A URL with a user and a password, as those of proxies and databases.
_URL = re.compile(r"://[^/\s:@]*:[^/\s@]+@")


def is_secret(name: str, value: Any) -> bool:
    """Whether a value looks like a secret: by its name, or since it is a URL with a password. A number of tokens is none."""
    if _URL.search(str(value)):
        return True
    counted = "TOKENS" in name.upper() and str(value).isdecimal()
    return bool(_NAME.search(name)) and not _PLACE.search(name) and not counted


def shown(objects: Iterable[Mapping[str, Any]]) -> list[str]:
    """Values in the environments of pods that look like secrets, which everyone who reads the objects sees: the beginning of a sentence for each
    container that has some, without the values.

    What the template of an add-on delivers is searched as well.
    """
    found = []
    for item in objects:
        spec = item.get("spec") or {}
        found += shown(((spec.get("agentSpec") or {}).get("workload") or {}).get("manifests") or [])
        pod = (spec.get("template") or {}).get("spec") or {}
        for one in [*(pod.get("initContainers") or []), *(pod.get("containers") or [])]:
            names = [str(env.get("name")) for env in one.get("env") or [] if env.get("value") and is_secret(str(env.get("name")), env["value"])]
            if names:
                found.append(f"{item['kind']} {item['metadata']['name']}, container {one['name']}: the value of {', '.join(names)} looks like a secret")
    return found
