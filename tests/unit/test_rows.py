# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A table of cases is one test, which fails with the names of all cases that fail."""

from __future__ import annotations

import inspect

import pytest

from ansible_collections.federated.flower.tests.unit.rows import each_row


def test_all_rows_run_and_those_that_fail_are_named(tmp_path: object) -> None:
    seen = []

    @each_row("deep", [True, False])
    @each_row(("number", "word"), [(1, "one"), (2, "two"), (3, "three")])
    def test(number: int, word: str, deep: bool, tmp_path: object) -> None:
        seen.append((number, word, deep, tmp_path))
        if number == 3:
            pytest.fail("no three")
        assert word != "one" or not deep

    assert list(inspect.signature(test).parameters) == ["tmp_path"], "pytest sees the fixtures alone"
    with pytest.raises(AssertionError) as caught:
        test(tmp_path=tmp_path)
    assert seen == [(number, word, deep, tmp_path) for deep in (True, False) for number, word in ((1, "one"), (2, "two"), (3, "three"))]
    message = str(caught.value)
    assert message.startswith("2 of 2 rows failed:\ndeep=True\n") and "2 of 3 rows failed" in message and "1 of 3 rows failed" in message
    assert "number=1, word='one'" in message and "number=3, word='three'" in message and "two" not in message
