# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet's rule for references in args."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.module_utils import kubelet
from ansible_collections.federated.flower.tests.unit.rows import each_row

VARIABLES = {"A": "a", "EMPTY": "", "REF": "$(A)", "odd name": "o"}


@each_row(
    ("text", "seen"),
    [
        ("", ""),
        ("$", "$"),
        ("x$", "x$"),
        ("$$", "$"),
        ("$$$", "$$"),
        ("$$$$", "$$"),
        ("$(A)", "a"),
        ("$(A)$(A)", "aa"),
        ("$(A)_b", "a_b"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$a"),
        ("$(EMPTY)", ""),
        ("$(NONE)", "$(NONE)"),
        ("$()", "$()"),
        ("$(REF)", "$(A)"),
        ("$(odd name)", "o"),
        ("$(A", "$(A"),
        ("$((A)", "$((A)"),
        ("$($(A)", "$($(A)"),
        ("$x$(A)", "$xa"),
        ("$ $(A)", "$ a"),
        ("${A}", "${A}"),
    ],
)
def test_expand(text: str, seen: str) -> None:
    assert kubelet.expand(text, VARIABLES) == seen


@each_row("text", ["$", "$$", "$(A)", "$$(A)", "${A}$", "a$b", "$é", "$($(A)"])
def test_escape(text: str) -> None:
    assert kubelet.expand(kubelet.escape(text), VARIABLES) == text
    assert kubelet.expand(kubelet.escape(text) + kubelet.reference("A"), VARIABLES) == text + "a"
