# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters that turn a supernode spec into objects. The work is done by plugin_utils/spec/render.py."""

from __future__ import annotations

from typing import Any, Callable

from ansible.errors import AnsibleFilterError

from ansible_collections.federated.flower.plugins.plugin_utils.spec import render


def _filter(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a filter: what is wrong with a spec becomes the text of the filter's error."""

    def call(spec: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(spec, *args, **kwargs)
        except (AttributeError, KeyError, TypeError, ValueError) as exc:
            reason = str(exc) if isinstance(exc, ValueError) else f"the spec is incomplete: {exc!r}"
            raise AnsibleFilterError(f"{function.__name__}: {reason}") from exc

    return call


class FilterModule:
    """Filters of the supernode role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {
            "clientapp_objects": _filter(render.clientapp_objects),
            "supernode_faults": _filter(render.supernode_faults),
            "supernode_objects": _filter(render.supernode_objects),
        }
