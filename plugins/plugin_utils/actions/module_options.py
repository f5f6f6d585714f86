# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules of this collection: their actions take what the documentation says."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_PLUGINS = Path(__file__).resolve().parents[2]
_OURS = "federated.flower."
_TAKEN = ("type", "elements", "choices", "default", "required")


def module_options(name: str) -> dict[str, dict[str, Any]]:
    """The argument spec of a module, with the options in fragments of this collection, and without those of others.

    What a fragment says of an option holds for what the module itself, or a fragment before, does not say.
    """
    documented = _documented(_PLUGINS / "modules" / f"{name}.py", "DOCUMENTATION")
    options = dict(documented.get("options") or {})
    for fragment in documented.get("extends_documentation_fragment") or ():
        if fragment.startswith(_OURS):
            file, _dot, part = fragment.removeprefix(_OURS).partition(".")
            shared = _documented(_PLUGINS / "doc_fragments" / f"{file}.py", part.upper() or "DOCUMENTATION")["options"]
            options |= {option: {**facts, **options.get(option, {})} for option, facts in shared.items()}
    return _spec(options)


def _spec(options: dict[str, Any]) -> dict[str, dict[str, Any]]:
    spec = {}
    for name, facts in options.items():
        spec[name] = {key: facts[key] for key in _TAKEN if key in facts}
        if "suboptions" in facts:
            spec[name]["options"] = _spec(facts["suboptions"])
    return spec


@cache
def _documented(path: Path, name: str) -> dict[str, Any]:
    """The YAML in a constant of a file, which is not imported."""
    found = re.search(rf'^ *{name} = r"""(.*?)"""', path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    content: dict[str, Any] = yaml.load(found[1] if found else "{}", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return content
