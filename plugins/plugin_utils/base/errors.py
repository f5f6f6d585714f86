# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The error that people read. In a file of its own: code that runs inside a site's cluster raises it as well."""

from __future__ import annotations


class ClusterError(Exception):
    """Something between us and a cluster went wrong. ``message`` is a sentence for people, with the way out."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
