# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parse a specification, or say all that is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..spec.fields import Kind


class SpecError(ValueError):
    """A spec that can't be rendered. C(faults) holds every reason."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


def parsed(kind: type[Kind], faults: Callable[[Mapping[str, Any]], list[str]], given: Mapping[str, Any]) -> Kind:
    """A specification without faults.

    Raises:
        SpecError: it has some.
    """
    found = faults(given)
    if found:
        raise SpecError(found)
    return kind.parse(given)
