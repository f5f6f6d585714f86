# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates, requests and keys of kinds that the library does not know."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..base.errors import ClusterError
from . import certificates


@contextlib.contextmanager
def explained(what: str, remedy: str) -> Iterator[None]:
    """Raise ClusterError where C(what) has one. The text has nothing of it: it may be a private key.

    ClusterErrors, and all that is a ValueError, are raised as they are: the code in the block explains them.
    """
    try:
        yield
    except (ClusterError, ValueError):
        raise
    except certificates.UNREADABLE as error:
        raise ClusterError(f"{what} has a certificate, certificate request or key that cannot be read ({type(error).__name__}); {remedy}") from None
