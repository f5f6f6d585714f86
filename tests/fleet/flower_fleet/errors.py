# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The one error type that users see."""

from __future__ import annotations


class FleetError(Exception):
    """A refusal or failure, with a message that says what is wrong and what to do."""
