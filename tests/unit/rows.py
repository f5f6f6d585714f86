# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of cases that are one test."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def each_row(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As C(pytest.mark.parametrize), in one test: pytest takes longer to prepare and report a small case than to run it.

    All rows run. Those that fail are named together. Fixtures of the test are made once for all rows.
    """
    keys = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
    single = isinstance(names, str) and len(keys) == 1
    table = [dict(zip(keys, [row] if single else row)) for row in rows]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def run(**fixtures: Any) -> None:
            failed: list[tuple[str, BaseException]] = []
            for row in table:
                try:
                    test(**row, **fixtures)
                except (Exception, pytest.fail.Exception) as error:
                    failed.append((", ".join(f"{key}={value!r:.300}" for key, value in row.items()), error))
            if failed:
                text = "\n\n".join(f"{row}\n{type(error).__name__}: {error}" for row, error in failed)
                raise AssertionError(f"{len(failed)} of {len(table)} rows failed:\n{text}") from failed[0][1]

        signature = inspect.signature(test)
        left = [one for name, one in signature.parameters.items() if name not in keys]
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        run.__name__, run.__doc__, run.__module__, run.__qualname__ = test.__name__, test.__doc__, test.__module__, test.__qualname__
        return run

    return decorate
