# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The certificate source of a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .base import Source
from .builtin import Builtin


def choose(settings: Mapping[str, Any]) -> Source:
    """The source that the settings ask for.

    Args:
        settings: option C(certificates) of the modules C(certificates) and C(preflight).
    """
    return Builtin()
