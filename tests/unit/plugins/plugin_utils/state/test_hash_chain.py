# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json

from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import canonical
from ansible_collections.federated.flower.plugins.plugin_utils.state.hash_chain import (
    Head,
    Line,
    export,
    read_export,
    seal,
    verify,
)
from ansible_collections.federated.flower.tests.unit.rows import each_row

COUNT = 6


def made(count=COUNT):
    entries, last = [], Head()
    for number in range(1, count + 1):
        told = {
            "id": f"{number:04}",
            "time": "2026-11-21T12:00:00+00:00",
            "sites": {"site-ä": {"words": [f"did {number}"]}},
        }
        entries.append(seal(told, last))
        last = head(entries)
    return entries


def lines(entries):
    return [
        Line(entry if isinstance(entry, str) else canonical(entry), f"line {at}") for at, entry in enumerate(entries, 1)
    ]


def head(entries):
    return Head(entries[-1]["seq"], entries[-1]["hash"])


def rehashed(entry, **changes):
    """As someone would alter an entry who knows how it is made."""
    told = {name: value for name, value in {**entry, **changes}.items() if name not in ("seq", "prev", "hash")}
    return seal(told, Head(entry["seq"] - 1, changes.get("prev", entry["prev"])))


def test_a_whole_chain():
    entries = made()
    verdict = verify(lines(entries), head(entries), [entries[2]["hash"]])
    assert not verdict.fault and not verdict.notes
    assert verdict.entries == entries and verdict.head == head(entries)


@each_row("at", range(COUNT))
def test_altered_entry(at):
    entries = made()
    good = head(entries)
    entries[at] = {**entries[at], "time": "2026-11-20T12:00:00+00:00"}
    verdict = verify(lines(entries), good)
    assert verdict.fault == (
        f"entry {at + 1} (line {at + 1}) was altered: its content does not match its hash"
    )
    assert verdict.entries == entries[:at] and verdict.doubtful == entries[at:]


@each_row("at", range(COUNT))
def test_altered_entry_with_a_hash_that_fits(at):
    entries = made()
    good = head(entries)
    entries[at] = rehashed(entries[at], time="2026-11-20T12:00:00+00:00")
    fault = verify(lines(entries), good).fault
    if at + 1 < COUNT:
        assert fault == f"entry {at + 1} was replaced: entry {at + 2} (line {at + 2}) was chained to another one"
    else:
        assert fault == f"entry {COUNT} does not match the head record: one of the two was altered"


@each_row("at", range(COUNT))
def test_missing_entry(at):
    entries = made()
    good = head(entries)
    del entries[at]
    fault = verify(lines(entries), good).fault
    if at + 1 < COUNT:
        assert fault == f"entry {at + 1} is missing: entry {at + 2} is in its place (line {at + 1})"
    else:
        assert fault == f"entry {COUNT} is missing: the head record names {COUNT} entries, {COUNT - 1} are there"


def test_cut_off():
    entries = made()
    assert verify(lines(entries[:3]), head(entries)).fault.startswith("entries 4 to 6 are missing: ")
    assert verify([], head(entries)).fault.startswith("entries 1 to 6 are missing: ")
    assert "no valid head record" in verify(lines(entries), None).fault


@each_row("at", range(COUNT))
def test_repeated_and_moved_entries(at):
    entries = made()
    good = head(entries)
    repeated = [*entries[: at + 1], entries[at], *entries[at + 1 :]]
    assert (
        verify(lines(repeated), good).fault == f"entry {at + 1} stands in the place of entry {at + 2} (line {at + 2})"
    )
    if at:
        moved = [*entries[: at - 1], entries[at], entries[at - 1], *entries[at + 1 :]]
        assert (
            verify(lines(moved), good).fault == f"entry {at} is missing: entry {at + 1} is in its place (line {at})"
        )


@each_row("at", range(COUNT))
def test_inserted_entry(at):
    """Whoever inserts an entry has to number and chain all later ones anew; up to the first that was not, it looks good."""
    entries = made()
    good = head(entries)
    forged = seal({"id": "x", "sites": {}}, head(entries[:at]) if at else Head())
    fault = verify(lines([*entries[:at], forged, *entries[at:]]), good).fault
    assert fault == f"entry {at + 1} stands in the place of entry {at + 2} (line {at + 2})"


def test_written_anew_as_a_whole_is_found_by_an_anchor_only():
    entries = made()
    noted = entries[3]["hash"]
    forged = [rehashed(entries[0], time="2026-11-20T12:00:00+00:00")]
    for entry in entries[1:]:
        forged.append(rehashed(entry, prev=forged[-1]["hash"]))
    assert not verify(lines(forged), head(forged)).fault
    assert verify(lines(forged), head(forged), [noted]).fault.startswith(f"no entry has the anchor hash {noted}")


@each_row(
    "text",
    [
        "",
        "{",
        "null",
        "[1]",
        '"x"',
        "{}",
        '{"seq":1,"prev":0,"hash":""}',
        '{"seq":true,"prev":"","hash":""}',
        "[" * 100_000,
        "NaN",
        "ä",
    ],
)
def test_what_is_no_entry(text):
    entries = made()
    found = [*entries[:2], text, *entries[3:]]
    assert verify(lines(found), head(entries)).fault == "entry 3 (line 3) was altered: it is not written as an entry is"


def test_the_same_json_written_in_another_way():
    """Two keys of one name would hide a text from people that the hash does not cover."""
    entries = made()
    text = canonical(entries[1])
    for other in (text.replace(",", ", "), text.replace('{"hash"', '{"hash":"0","hash"'), json.dumps(entries[1])):
        assert verify(lines([entries[0], other, *entries[2:]]), head(entries)).fault.startswith(
            "entry 2 (line 2) was altered"
        )


def test_a_first_entry_that_names_one_before():
    (first,) = made(1)
    other = rehashed(first, prev="f" * 64)
    assert "is not the first one" in verify(lines([other]), head([other])).fault


def test_head_record_that_is_behind():
    entries = made()
    verdict = verify(lines(entries), head(entries[:5]))
    assert not verdict.fault and verdict.notes[0].startswith("the head record names 5 of 6 entries")
    assert "entry 5 does not match the head record" in verify(lines(entries), Head(5, "0" * 64)).fault


@each_row("cut", range(1, COUNT + 1))
def test_exported_file_that_was_cut_off(cut):
    entries = made()
    found = export(lines(entries), head(entries))[:-cut]
    assert "no valid head record" in verify(*read_export(found, "f")).fault


def test_export_of_nothing():
    assert export([], None) == []
    assert read_export([], "f") == ([], None)
    assert verify(*read_export(['{"entries":"x","hash":"y"}'], "f")).fault
