# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Functions of a specification as filters of Ansible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.errors import AnsibleFilterError

from ..base.plain import plain


def spec_filter(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as a filter: what is wrong with a spec becomes the text of the filter's error.

    Args:
        function: takes the spec first. A ValueError that it raises is a sentence for people.
    """

    def call(spec: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(plain(spec), *args, **kwargs)
        except (AttributeError, KeyError, TypeError, ValueError) as exc:
            reason = str(exc) if isinstance(exc, ValueError) else f"the spec is incomplete: {exc!r}"
            raise AnsibleFilterError(f"{function.__name__}: {reason}") from exc

    return call
