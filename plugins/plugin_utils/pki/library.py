# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Is the library there by which certificates and keys are made?"""

from __future__ import annotations

try:
    import cryptography  # noqa: F401
except ImportError as error:  # told when it is needed: listing and documenting the plugins must work without
    MISSING: ImportError | None = error
else:
    MISSING = None

from ..base.errors import ClusterError


def require() -> None:
    """Say what to install when the library is not there.

    Raises:
        ClusterError: as every other error that a user can mend.
    """
    if MISSING is not None:
        raise ClusterError(
            "the Python package cryptography is needed on the controller and is not there; install cryptography>=42."
        ) from MISSING
