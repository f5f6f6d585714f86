# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all unit tests share."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from ansible_collections.federated.flower.tests.unit.compiled_templates import compiled_once


def pytest_configure() -> None:
    """Nothing of what is imported and collected is garbage: not to look for any there takes a tenth of the time of all tests."""
    gc.disable()


def pytest_collection_finish() -> None:
    """See C(pytest_configure)."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def templates_compiled_once() -> Iterator[None]:
    """See C(compiled_once)."""
    with compiled_once():
        yield
