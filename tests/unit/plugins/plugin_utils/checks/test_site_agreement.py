# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a site and the hub must agree on, before anything is changed."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import Any

from ansible_collections.federated.flower.plugins.module_utils import node_config
from ansible_collections.federated.flower.plugins.plugin_utils.checks import site_agreement
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import PoolSpec
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import said

NOW = datetime.datetime(2026, 5, 1, 12, tzinfo=datetime.timezone.utc)
DAY = datetime.timedelta(days=1)
CA, OTHER = (certificates.make_ca(name, 99 * DAY) for name in ("ca", "other"))
SERVED = certificates.issue(CA, "hub", ["hub.example"], 9 * DAY).certificate


@each_row(
    ("skew", "hub", "signed", "fault", "warning"),
    [
        (0.4, -0.4, True, "", ""),
        (5.0, 0.0, True, "", ""),
        (7.0, 0.0, True, "", "its clock is 7 s ahead of the hub's; Flower refuses"),
        (7.0, 0.0, False, "", ""),
        (20.0, -12.0, True, "its clock is 32 s ahead of the hub's; Flower refuses", ""),
        (20.0, -12.0, False, "", "its clock is 32 s ahead of the hub's"),
        (-25.0, 0.0, True, "", ""),
        (-31.0, 0.0, True, "", "its clock is 31 s behind the hub's"),
        (-301.0, 0.0, True, "its clock is 301 s behind the hub's; Flower refuses", ""),
        (-301.0, -300.0, True, "", ""),
        (100.0, None, True, "", "its clock is 100 s ahead of the control node's"),  # the hub was not checked: what it shows is not known
        (None, 0.0, True, "", ""),
    ],
)
def test_clocks(skew: float | None, hub: float | None, signed: bool, fault: str, warning: str) -> None:
    for got, wanted in zip(said(site_agreement.clocks(skew, hub, signed=signed)), (fault, warning)):
        assert got.startswith(wanted) and bool(got) is bool(wanted)


def test_the_hubs_clock() -> None:
    assert said(site_agreement.hub_clock(None)) == said(site_agreement.hub_clock(29.0)) == ("", "")
    assert said(site_agreement.hub_clock(-31.0)) == ("", "its clock is 31 s behind the control node's")


@each_row(
    ("skew", "words"),
    [
        (None, ""),
        (-299.0, ""),
        (-301.0, ""),  # clocks are known to the second: it may just have been issued
        (-303.0, "not valid before 2026-05-01T11:55:00+00:00, and it is 2026-05-01T11:54:57+00:00 by its clock (its clock is 303 s behind the control node's)"),
        (601.0, "expires on 2026-05-01T12:10:00+00:00"),
    ],
)
def test_validity(skew: float | None, words: str) -> None:
    certificate = {"not_before": "2026-05-01T11:55:00+00:00", "not_after": "2026-05-01T12:10:00+00:00"}
    fault, warning = said(site_agreement.validity(certificate, skew, NOW))
    assert words in fault and bool(fault) is bool(words) and warning == ""
    assert said(site_agreement.validity({}, skew, NOW)) == ("", "")


@each_row(
    ("bundle", "changes", "served", "words"),
    [
        (OTHER.certificate, {}, SERVED, "its chain ends in CN=ca, a root that is not among the trusted ones. Add the root, or remove the variable"),
        (OTHER.certificate.replace("MII", "AAA", 1), {}, SERVED, "has a certificate that cannot be read"),
        (OTHER.certificate + CA.certificate, {}, SERVED, ""),
        ("", {}, SERVED, ""),
        (OTHER.certificate, {}, "", ""),
        (OTHER.certificate, {"mtls": False}, SERVED, ""),  # something in front of the gateway may have another certificate
    ],
)
def test_a_bundle_of_the_site_that_lacks_the_root(parsed_site: Any, bundle: str, changes: dict[str, Any], served: str, words: str) -> None:
    faults, warning = said(site_agreement.trust(replace(parsed_site(), ca_bundle=bundle, **changes), served))
    assert faults == "" and words in warning and bool(warning) is bool(words)


@each_row(
    ("level", "planned", "words"),
    [("privileged", "restricted", 'sets its level ("restricted")'), ("privileged", None, 'sets its level ("restricted")'), ("", "baseline", '("baseline")'),
     ("privileged", "privileged", ""), ("restricted", None, "")],
)  # fmt: skip
def test_another_level_than_that_of_the_hub_is_refused(parsed_site: Any, level: str, planned: str | None, words: str) -> None:
    spec, live = parsed_site(pod_security=level), {"metadata": {"name": "flower", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    assert site_agreement.wants_level(spec)
    found, _warnings = said(site_agreement.shared_namespace(spec, live, planned))
    assert words in found and bool(found) == bool(words)
    assert not found or "Set superlink_pod_security" in found


def test_where_the_collection_chooses_the_level_there_is_nothing_to_compare(parsed_site: Any) -> None:
    assert not site_agreement.wants_level(parsed_site(pod_security="auto"))
    assert not site_agreement.wants_level(parsed_site(pod_security="privileged", create_namespace=False))


def types(**given: Any) -> str:
    faults, warning = said(site_agreement.config_types([PoolSpec(name="cpu", node_config=given)]))
    assert faults == ""
    return warning


@each_row("text", ["1", "+5", "-0", "true", "false", "9223372036854775807"])
def test_text_that_becomes_a_number_or_a_boolean(text: str) -> None:
    assert types(a=text) == "node_config of pool cpu: the text of a becomes a number or a boolean (to keep text: {string: TEXT})"
    (seen,) = node_config.expand({"a": text}, mode="StatefulSet", pool="cpu", replicas=1).preview
    assert not isinstance(seen["config"]["a"], str)


@each_row("text", ["1e-4", "0.5", "1E3", "01", ".5", "-2.5e10"])
def test_text_that_looks_like_a_number_and_stays_text(text: str) -> None:
    assert types(lr=text) == "node_config of pool cpu: lr stays text, though it looks like a number (for a number: without quotes, with a point, as 1.0e-4)"
    (seen,) = node_config.expand({"lr": text}, mode="StatefulSet", pool="cpu", replicas=1).preview
    assert seen["config"]["lr"] == text


@each_row("value", [1, 1.5, True, {"string": "1"}, "x1", "True", "1.41.0", "{partition}", "{index}", "", "1 2", "e4", "2026-01-01"])
def test_what_has_the_type_that_it_seems_to_have(value: Any) -> None:
    assert types(a=value) == ""


def test_one_sentence_for_each_pool() -> None:
    (line,) = types(a="1", b="true", lr="1e-4", name="x").splitlines()
    assert "the text of a, b becomes" in line and "; lr stays text" in line
