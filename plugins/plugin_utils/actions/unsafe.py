# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Text from others, which must never be treated as a template."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import ansible.template
from jinja2 import pass_context

Filters = dict[str, Callable[..., Any]]

if hasattr(ansible.template, "trust_as_template"):

    def unsafe(value: Any) -> Any:
        """The value, with all text in it, keys included, marked as no template.

        ansible-core 2.19 templates only text that is marked as trusted, so text is left as it is.
        """
        return value

    def marked(filters: Filters) -> Filters:
        """The filters. What they return is marked as no template: here every text is none unless marked."""
        return filters

else:
    from ansible.utils.unsafe_proxy import wrap_var

    def unsafe(value: Any) -> Any:
        """The value, with all text in it, keys included, marked as no template; here every text is one unless marked."""
        return wrap_var(value)

    def marked(filters: Filters) -> Filters:
        """The filters. What they return, and what a template makes of it, is marked as no template."""
        return {name: _marked(function) for name, function in filters.items()}

    def _marked(function: Callable[..., Any]) -> Callable[..., Any]:
        @pass_context
        @functools.wraps(function)
        def call(context: Any, *args: Any, **kwargs: Any) -> Any:
            context.unsafe = True  # a list becomes text at the end of a template, and what was in it loses its marks
            return unsafe(function(*args, **kwargs))

        return call
