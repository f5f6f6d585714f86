# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the library for certificates and keys is installed"""

from __future__ import annotations

import importlib

from ..base.errors import ClusterError

try:
    importlib.import_module("cryptography")
except ImportError as error:  # reported when it is needed: listing and documenting the plugins must work without it
    MISSING: ImportError | None = error
else:
    MISSING = None


def require() -> None:
    """Raise an error with what to install when the library is missing.

    Raises:
        ClusterError: as all errors that a user can resolve.
    """
    if MISSING is not None:
        raise ClusterError(
            "the Python package cryptography is needed on the control node and is not installed: install cryptography>=42."
        ) from MISSING
