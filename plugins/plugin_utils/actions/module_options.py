# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules of this collection: their actions take what the documentation says."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_PLUGINS, _OURS = Path(__file__).resolve().parents[2], "federated.flower."
_TAKEN = ("type", "elements", "choices", "default", "required")


def module_options(name: str) -> dict[str, dict[str, Any]]:
    """The argument spec of a module. Fragments of this collection say what the module itself does not; those of others do not count."""
    documented = _documented(f"modules/{name}.py", "DOCUMENTATION")
    options = dict(documented.get("options") or {})
    for fragment in documented.get("extends_documentation_fragment") or ():
        if fragment.startswith(_OURS):
            file, _dot, part = fragment.removeprefix(_OURS).partition(".")
            shared = _documented(f"doc_fragments/{file}.py", part.upper() or "DOCUMENTATION")["options"]
            options |= {option: {**facts, **options.get(option, {})} for option, facts in shared.items()}
    return _spec(options)


def _spec(options: dict[str, Any]) -> dict[str, dict[str, Any]]:
    inner = {name: {"options": _spec(facts["suboptions"])} for name, facts in options.items() if "suboptions" in facts}
    return {name: {key: facts[key] for key in _TAKEN if key in facts} | inner.get(name, {}) for name, facts in options.items()}


@cache
def _documented(file: str, name: str) -> dict[str, Any]:
    """The YAML in a constant of a file, which is not imported."""
    found = re.search(rf'^ *{name} = r"""(.*?)"""', (_PLUGINS / file).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return yaml.load(found[1], getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if found else {}
