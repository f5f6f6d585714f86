# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.audit.hash_chain import Head, seal
from ansible_collections.federated.flower.plugins.plugin_utils.audit.trail_table import table

TOLD = {
    "time": "2026-11-21T12:00:00.123456+00:00",
    "playbook": "federated.flower.site",
    "options": {"limit": "hub,site-a"},
    "who": {"user": "root", "host": "ctl", "kubernetes": "system:admin"},
    "sites": {
        "hub": {
            "objects": [
                {"change": "created", "object": f"ConfigMap flower/x{number}", "sha256": "0" * 64}
                for number in range(5)
            ]
            + [{"change": "deleted", "object": "Secret flower/s"}],
            "certificates": [
                {"name": "gateway", "serial": "1234567890abcdef1234567890abcdef", "not_after": "2027-02-19"}
            ],
        },
        "site-a": {"keys": [{"change": "registered", "fingerprint": "SHA256:" + "a" * 43}], "words": ["denied"]},
    },
    "failed": {"site-a": "site-a: it is down", "site-b": ""},
}


def test_one_line_per_cluster():
    lines = table([seal(TOLD, Head())])
    assert lines[0].split() == ["entry", "time", "who", "playbook", "cluster", "what"]
    assert lines[1].split()[:5] == ["1", "2026-11-21T12:00:00", "root@ctl", "as", "system:admin"]
    assert "federated.flower.site --limit hub,site-a" in lines[1]
    assert lines[1].endswith(
        "hub      created 5 objects; deleted Secret s; certificates: gateway 1234567890abcdef123 2027-02-19"
    )
    assert lines[2].split()[0] == "site-a"
    assert lines[2].endswith("keys: registered SHA256:aaaaaaaaaaaa; words: denied; FAILED: site-a: it is down")
    assert lines[3].split() == ["site-b", "FAILED"]


def test_awx_tells_who_launched_the_job():
    who = {**TOLD["who"], "awx_user": "jane"}
    assert "jane@ctl as system:admin" in table([seal({**TOLD, "who": who, "interrupted": "t"}, Head())])[1]
    assert "(interrupted)" in table([seal({**TOLD, "interrupted": "t"}, Head())])[1]


def test_entries_of_a_broken_chain_may_be_anything():
    odd = [
        {"seq": 2, "prev": "", "hash": ""},
        {"seq": 3, "prev": "", "hash": "", "sites": {"a": 1, "b": {"objects": [1], "x": ["y"]}}, "who": "?"},
    ]
    lines = table([seal(TOLD, Head())], odd)
    assert lines[4].startswith("2?") and lines[5].startswith("3?")


def test_no_entries():
    assert len(table([])) == 1
