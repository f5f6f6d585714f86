# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of a user's Flower CLI: one connection of them is edited, and all else stays, byte by byte."""

from __future__ import annotations

import pytest
import tomllib

from ansible_collections.federated.flower.plugins.plugin_utils.flower import connection_file
from ansible_collections.federated.flower.plugins.plugin_utils.flower.connection_file import (
    with_connection,
    without_connection,
)
from ansible_collections.federated.flower.tests.unit.rows import each_row

VALUES = {"address": "localhost:8000", "root-certificates": "/home/ann/.flwr/federated-flower/hub.crt"}
OTHER = {**VALUES, "address": "localhost:9000"}
#: As Flower creates it (1.42).
FLOWERS = '[superlink]\ndefault = "local"\n\n[superlink.supergrid]\naddress = "api.flower.ai"\n\n[superlink.local]\naddress = ":local:"\n'
#: As people have it.
OWN = """\
# mine, do not touch
[superlink]
default = 'lab'   # the usual one

[superlink.lab]
address = "lab.example.com:443"   # insecure = true
options.num-supernodes = 2

[superlink.lab.notes]
text = \"\"\"
[superlink.hub]
address = "no table"
\"\"\"

# last words
[tool]
list = [
  [1, 2],
]
"""


@each_row("text", [FLOWERS, OWN, FLOWERS.replace("\n", "\r\n"), "# only a comment\n", "[tool]\nx = 1\n"])
def test_a_connection_comes_and_goes_and_leaves_no_trace(text: str) -> None:
    if text == OWN:
        text = text.replace("[superlink.hub]", "[superlink.other]")
    there = with_connection(text, "hub", VALUES)
    before, found = tomllib.loads(text), tomllib.loads(there)
    assert there.startswith(text) or not text.strip("# \n")
    assert found["superlink"].pop("hub") == VALUES
    assert found == {"superlink": {}, **before}
    assert with_connection(there, "hub", VALUES) == there
    assert without_connection(there, "hub") == text


def test_a_new_file_has_a_default_and_goes_with_its_connection() -> None:
    text = with_connection("", "hub", VALUES)
    assert tomllib.loads(text) == {"superlink": {"default": "hub", "hub": VALUES}}
    assert connection_file.is_default(text, "hub")
    assert without_connection(text, "hub") == ""
    assert tomllib.loads(without_connection(with_connection(text, "lab", VALUES), "hub")) == {"superlink": {"default": "hub", "lab": VALUES}}


def test_another_address_changes_one_line() -> None:
    text = with_connection(FLOWERS, "hub", VALUES) + "federation = '@me/default'  # mine\n\n# of the next\n[superlink.next]\naddress = 'x'\n"
    changed = with_connection(text, "hub", OTHER)
    assert [(a, b) for a, b in zip(text.split("\n"), changed.split("\n"), strict=True) if a != b] == [
        ('address = "localhost:8000"', 'address = "localhost:9000"')
    ]
    gone = without_connection(changed, "hub")
    assert "# of the next\n[superlink.next]" in gone and "mine" not in gone
    lost = changed.replace('address = "localhost:9000"\n', "")
    assert connection_file.connection(with_connection(lost, "hub", OTHER), "hub") == {**OTHER, "federation": "@me/default"}


@each_row("header", ["[ superlink . hub ]", "['superlink'.\"hub\"]  # ours", "\t[superlink.hub]"])
def test_every_form_of_the_header_is_found(header: str) -> None:
    text = with_connection(FLOWERS, "hub", VALUES).replace("[superlink.hub]", header)
    assert connection_file.connection(with_connection(text, "hub", OTHER), "hub") == OTHER
    assert tomllib.loads(without_connection(text, "hub")) == tomllib.loads(FLOWERS)


@each_row(
    ("text", "words"),
    [
        ("[superlink\n", "Expected"),
        ("superlink = 1\n", "superlink is not a table"),
        ("[superlink]\nhub = 'x'\n", "superlink.hub is not a table"),
        ("superlink = {default = 'lab', lab = {address = 'x'}}\n", "does not fit into its present form"),
        ("superlink.hub = {address = 'x'}\n", "has no line"),
        ("[superlink.hub]\nsub.address = 1\n'address' = 'x'\n", "does not fit"),
        (OWN + "\n[superlink.hub]\naddress = 'x'\n", "without changing something else"),  # the first header is in a text
    ],
)
def test_what_cannot_be_edited_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        with_connection(text, "hub", VALUES)


def test_a_table_below_it_is_not_lost() -> None:
    with pytest.raises(ValueError, match="without changing something else"):
        without_connection(with_connection(FLOWERS, "hub", VALUES) + "[superlink.hub.options]\nnum-supernodes = 2\n", "hub")


@each_row(("name", "good"), [("hub", True), ("Lab_2-x", True), ("", False), ("a.b", False), ("../x", False), ("a b", False), ("default", False)])
def test_names(name: str, good: bool) -> None:
    assert (connection_file.problem_of_name(name) == "") is good
