# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible's templates without the time that their compilation takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import jinja2


@contextmanager
def compiled_once() -> Iterator[None]:
    """The code of each template of Ansible is made once, in place of each time that it is evaluated: that is most of the time that it takes.

    All environments of one of Ansible's classes have the same filters and options.
    """
    known: dict[Any, Any] = {}
    compile_anew = jinja2.Environment.compile

    def compiled(self: jinja2.Environment, source: Any, *options: Any, **named: Any) -> Any:
        if options or named or not isinstance(source, str) or not type(self).__module__.startswith("ansible."):
            return compile_anew(self, source, *options, **named)
        key = (type(self), self.variable_start_string, self.block_start_string, str(source))
        if key not in known:
            known[key] = compile_anew(self, source)
        return known[key]

    with mock.patch.object(jinja2.Environment, "compile", compiled):
        yield
