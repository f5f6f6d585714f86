# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.audit import notes, pack
from ansible_collections.federated.flower.plugins.plugin_utils.audit.hash_chain import (
    START,
    Head,
    Line,
    parse,
    seal,
    verify,
)
from ansible_collections.federated.flower.plugins.plugin_utils.base.digests import canonical


def tell(number, size=0):
    return {"id": f"{number:06}", "sites": {"a": {"words": ["x" * size]}}}


def test_pieces_are_filled_and_never_too_big():
    """A ConfigMap may hold 1 MiB; pieces stay below half of it, whatever the size of the entries."""
    left = [
        tell(number, size)
        for number, size in enumerate([10, notes.LIMIT, 3, notes.LIMIT, notes.LIMIT, 70_000, 1, notes.LIMIT] * 5)
    ]
    pieces, seq, prev = [], 0, START
    while left:
        piece = pack.fill("", left, (), seq, prev)
        left = left[piece.taken :]
        seq, prev = piece.made[-1]["seq"], piece.made[-1]["hash"]
        pieces.append(piece)
    assert len(pieces) > 5
    assert all(pack.full(piece.text) for piece in pieces[:-1])
    assert max(len(piece.text) for piece in pieces) < 512 * 1024
    lines = [Line(text, "") for piece in pieces for text in piece.text.splitlines()]
    assert not verify(lines, Head(seq, prev)).fault


def test_a_piece_goes_on():
    one = pack.fill("", [tell(1)], (), 0, START)
    two = pack.fill(one.text, [tell(2)], pack.identities(one.text.splitlines()), 1, one.made[0]["hash"])
    assert two.text.startswith(one.text) and two.made[0]["prev"] == one.made[0]["hash"]


def test_a_full_piece_takes_nothing():
    piece = pack.fill("x" * pack.FULL, [tell(1)], (), 0, START)
    assert (piece.taken, piece.made) == (0, [])


def test_what_was_told_is_not_told_again():
    one = pack.fill("", [tell(1), tell(2)], (), 0, START)
    known = pack.identities(one.text.splitlines())
    again = pack.fill(one.text, [tell(1), tell(3), tell(2)], known, 2, one.made[-1]["hash"])
    assert again.taken == 3 and [entry["id"] for entry in again.made] == ["000003"]
    parts = [{**tell(4), "part": part, "parts": 2} for part in (1, 2)]
    first = pack.fill("", parts[:1], (), 0, START)
    second = pack.fill(first.text, parts, pack.identities(first.text.splitlines()), 1, first.made[0]["hash"])
    assert [entry["part"] for entry in second.made] == [2]


def chained(count):
    entries, prev = [], START
    for number in range(1, count + 1):
        entries.append(seal(tell(number), number, prev))
        prev = entries[-1]["hash"]
    return entries


def end(entries, head):
    return pack.end([canonical(entry) for entry in entries], head)


def test_where_a_trail_goes_on():
    entries = chained(5)
    heads = [Head(entry["seq"], entry["hash"]) for entry in entries]
    assert end([], None) == (0, START, "")
    assert end(entries, heads[4]) == (5, entries[4]["hash"], "")
    assert end(entries, heads[2]) == (5, entries[4]["hash"], ""), "the head record may be behind"


def test_a_break_is_never_healed():
    entries = chained(5)
    head = Head(5, entries[4]["hash"])
    lines = [Line(canonical(entry), "") for entry in entries]
    forged = seal(tell(9), 5, entries[3]["hash"])
    for found in (entries[:3], [], [*entries[:4], forged]):
        seq, prev, wrong = end(found, head)
        assert (seq, prev) == (5, head.hash) and "does not end with the entry 5" in wrong
        new = seal(tell(10), seq + 1, prev)
        assert verify([*(Line(canonical(entry), "") for entry in [*found, new])], Head(6, new["hash"])).fault
    assert pack.end([line.text for line in lines[:4]] + ["rubbish"], head)[:2] == (5, head.hash)


def test_without_head_record():
    entries = chained(2)
    assert end(entries, None)[:2] == (2, entries[1]["hash"])
    assert "no head record" in end(entries, None)[2]
    assert parse(canonical(entries[0])) == entries[0]
