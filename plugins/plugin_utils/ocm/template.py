# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How Open Cluster Management's template engine renders a manifest in an AddOnTemplate. Pure.

Source: C(pkg/addon/templateagent/template_agent.go) of open-cluster-management.io/ocm (the same in 0.16 and 1.2; with 1.3.1 values that
break templates arrived complete, too): the JSON text of each manifest goes through C(fasttemplate) with the marks C({{)
and C(}}). What is between two marks is the exact name of a variable; an unknown one becomes empty, and values are
inserted into the JSON without escaping. A C({{) without a following C(}}) makes C(fasttemplate.New) panic. Nothing can
be escaped.

So templates of this collection have no variables, and what the engine would change is delivered in another way (C(split)).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..base.object_names import CLIENT_CONFIG, TRUST_CONFIG
from ..base.values import Object
from ..manifests.clientapp import POD_NAME
from ..spec.pool_spec import MODES

_OPEN, _CLOSE = "{{", "}}"

# They must stay when the add-on is deleted, which the site's ManifestWork says (C(addon_objects.STORAGE)).
_DATA = ("PersistentVolume", "PersistentVolumeClaim")
# Numbers of a site, and what a rotation of certificates changes while the rest stays.
_OWN_MAPS = (TRUST_CONFIG, CLIENT_CONFIG)


class TemplateError(ValueError):
    """The engine would fail, and with it the whole add-on manager or the add-on."""


def rendered(text: str, values: Mapping[str, str] | None = None) -> str:
    """The JSON text of a manifest after the engine.

    Raises:
        TemplateError: a mark is opened and never closed.
    """
    known = values or {}
    out: list[str] = []
    while True:
        before, mark, rest = text.partition(_OPEN)
        out.append(before)
        if not mark:
            return "".join(out)
        name, mark, text = rest.partition(_CLOSE)
        if not mark:
            raise TemplateError(f"no {_CLOSE} follows {_OPEN}{rest[:20]!r}")
        out.append(known.get(name, ""))


def stored(manifest: Mapping[str, Any]) -> str:
    """A manifest's JSON as the API server hands it out: compact, with every character as it is."""
    return json.dumps(manifest, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def survives(manifest: Mapping[str, Any]) -> bool:
    """Whether the engine leaves a manifest alone."""
    text = stored(manifest)
    try:
        return rendered(text) == text
    except TemplateError:
        return False


def _names_a_pod(item: Mapping[str, Any]) -> bool:
    """Whether it is a Service in front of a single pod, whose number is the site's."""
    return item["kind"] == "Service" and POD_NAME in (item["spec"].get("selector") or {})


def split(objects: Iterable[Object]) -> tuple[list[Object], list[Object]]:
    """A site's objects in two parts, each in the original order: for the add-on's template, and for the site's ManifestWork.

    The first part is the same for all sites with the same settings.
    """
    common: list[Object] = []
    own: list[Object] = []
    for item in objects:
        kind, name = item["kind"], item["metadata"]["name"]
        is_own = kind in MODES or kind in _DATA or (kind == "ConfigMap" and name in _OWN_MAPS) or _names_a_pod(item)
        is_own = is_own or not survives(item)
        (own if is_own else common).append(item)
    return common, own
