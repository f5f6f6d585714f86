# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions of a specification as filters of Ansible, whose results are never treated as templates."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import ansible.template
from ansible.errors import AnsibleFilterError
from jinja2 import pass_context

from ..base.plain_data import to_json_data

#: ansible-core 2.19 templates only text that is marked as trusted; earlier ones all text that is not marked.
_ALL_IS_TEMPLATED = not hasattr(ansible.template, "trust_as_template")
_UTILS = __name__.rpartition(".actions.")[0]


if _ALL_IS_TEMPLATED:
    from ansible.utils.unsafe_proxy import wrap_var
else:

    def wrap_var(value: Any) -> Any:
        """The value as it is."""
        return value


def unsafe(value: Any) -> Any:
    """The value, with all text in it, keys included, marked as no template where that is needed."""
    return wrap_var(value)


class Filters:
    """The filters of a file. Neither what they return, nor what a template makes of it, is a template."""

    FUNCTIONS: dict[str, Callable[..., Any]]

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return {name: _marked(function) if _ALL_IS_TEMPLATED else function for name, function in self.FUNCTIONS.items()}


def _marked(function: Callable[..., Any]) -> Callable[..., Any]:
    @pass_context
    @functools.wraps(function)
    def call(context: Any, *args: Any, **kwargs: Any) -> Any:
        context.unsafe = True  # a list becomes text at the end of a template, and what was in it loses its marks
        return unsafe(function(*args, **kwargs))

    return call


def spec_filter(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a filter: what is wrong with a spec becomes the text of the filter's error.

    Args:
        function: takes the spec first. A ValueError that it raises is a sentence for people.
    """

    def call(spec: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(to_json_data(spec), *args, **kwargs)
        except (AttributeError, KeyError, TypeError, ValueError) as exc:
            reason = str(exc) if isinstance(exc, ValueError) else f"the spec is incomplete: {exc!r}"
            raise AnsibleFilterError(f"{function.__name__}: {reason}") from exc

    return call


def lazy(module: str, name: str) -> Callable[..., Any]:
    """A function whose module in C(plugin_utils) is imported when it is called."""

    def call(*args: Any) -> Any:
        return getattr(import_module(f"{_UTILS}.{module}"), name)(*args)

    call.__name__ = name
    return call
