# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The error that people read. In its own file: code that runs inside a site's cluster raises it as well."""

from __future__ import annotations

from .foreign_data import without_controls


class ClusterError(Exception):
    """An operation on a cluster failed. C(message) is a sentence for people, with the remedy. Parts of it may be of others."""

    def __init__(self, message: str) -> None:
        self.message = without_controls(message)
        super().__init__(self.message)
