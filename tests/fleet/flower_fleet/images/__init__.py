# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Container images: recipes, kept in the cache under a key of their inputs, and the seed store that nodes share."""

from __future__ import annotations
