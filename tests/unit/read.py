# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of the collection that many tests read."""

from __future__ import annotations

import copy
import posixpath
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


class _Loader(yaml.CSafeLoader):
    """Knows the strings that Ansible does not template."""


_Loader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))


@cache
def _parsed(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)


def yaml_file(*parts: str) -> Any:
    """The content of a YAML file of the collection, parsed once a session; the caller's own copy."""
    return copy.deepcopy(_parsed(ROOT.joinpath(*parts)))


#: Playbooks by their path below C(playbooks): those that people run, and in C(parts) those that others are made of.
PLAYBOOKS = sorted(path.relative_to(ROOT / "playbooks").as_posix() for place in ("", "parts/") for path in ROOT.glob(f"playbooks/{place}*.yml"))


def playbook(name: str) -> list[dict[str, Any]]:
    """The plays and imports of a playbook, imported ones by their path below C(playbooks)."""
    found = yaml_file("playbooks", name)
    for play in found:
        if "import_playbook" in play:
            play["import_playbook"] = posixpath.normpath(posixpath.join(posixpath.dirname(name), play["import_playbook"]))
    return found


def trusted(value: Any) -> Any:
    """The value with its strings marked as templates; ansible-core before 2.19 trusts all strings."""
    try:
        from ansible.template import trust_as_template
    except ImportError:
        return value
    if isinstance(value, dict):
        return {key: trusted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [trusted(item) for item in value]
    return trust_as_template(value) if isinstance(value, str) else value


def role_options(role: str) -> dict[str, Any]:
    """Options of a role's main entry point; shared by all callers, who change nothing in it."""
    specs = _parsed(ROOT / "roles" / role / "meta" / "argument_specs.yml")
    return specs["argument_specs"]["main"]["options"]


def merged(value: Any, changes: Any) -> Any:
    """A JSON value with a merge patch (RFC 7396) applied."""
    if not isinstance(changes, dict):
        return changes
    kept = dict(value) if isinstance(value, dict) else {}
    for key, change in changes.items():
        if change is None:
            kept.pop(key, None)
        else:
            kept[key] = merged(kept.get(key), change)
    return kept


def differences(old: Any, new: Any) -> Any:
    """The merge patch that makes C(old) C(new)."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    gone = dict.fromkeys(sorted(old.keys() - new.keys()))
    return gone | {
        key: differences(old.get(key), new[key]) for key in sorted(new) if key not in old or old[key] != new[key]
    }


@cache
def schemas_of(name: str) -> dict[str, Any]:
    """Kind -> schema, from tests/unit/schemas/<name>.yml: whole, or the changes of another one; shared by all callers."""
    found = _parsed(ROOT / "tests" / "unit" / "schemas" / f"{name}.yml")
    return merged(schemas_of(found["base"]), found["changes"]) if "base" in found else found
