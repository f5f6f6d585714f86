# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Ansible shows for C(--diff): one entry per object that differs, secrets masked. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from .compare import content
from .mask import Mask
from .order import Id

_BASE = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_BASE):  # type: ignore[misc,valid-type]
    """Texts of several lines as blocks, so that a diff shows the lines that differ."""


def _text(dumper: Any, value: str) -> Any:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def entry(which: Id, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, mask: Mask) -> dict[str, str]:
    """One entry of the result's C(diff). None stands for «does not exist»."""
    return {
        "before_header": f"{which} (live)" if before is not None else f"{which} (absent)",
        "after_header": f"{which}" if after is not None else f"{which} (absent)",
        "before": _dump(before, mask),
        "after": _dump(after, mask),
    }


def _dump(obj: Mapping[str, Any] | None, mask: Mask) -> str:
    if obj is None:
        return ""
    shown = mask.shown(content(obj))
    return yaml.dump(shown, Dumper=_Dumper, default_flow_style=False, sort_keys=True, width=1000, allow_unicode=True)
