# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site with a CA bundle of its own would lose the hub by it in its deployment, and be waited for."""

from __future__ import annotations

import datetime
from dataclasses import replace

from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.preflight import own_trust
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec

DAY = datetime.timedelta(days=1)
CA, OTHER = (certificates.make_ca(name, 99 * DAY) for name in ("ca", "other"))
SERVED = certificates.issue(CA, "hub", ["hub.example"], 9 * DAY).certificate


def test_a_bundle_that_lacks_the_root_is_named(supernode_spec):
    spec = SiteSpec.parse(supernode_spec(ca_bundle=OTHER.certificate))
    fault = own_trust.fault(spec, SERVED)
    assert "its chain ends in CN=ca, a root that is not among the trusted ones. Add the root, or remove the variable" in fault
    assert "has a certificate that cannot be read" in own_trust.fault(replace(spec, ca_bundle=OTHER.certificate.replace("MII", "AAA", 1)), SERVED)


def test_what_is_right_or_not_known_is_not(supernode_spec):
    spec = SiteSpec.parse(supernode_spec(ca_bundle=OTHER.certificate))
    assert own_trust.fault(replace(spec, ca_bundle=OTHER.certificate + CA.certificate), SERVED) == ""
    assert own_trust.fault(replace(spec, ca_bundle=""), SERVED) == ""
    assert own_trust.fault(spec, "") == ""
    assert own_trust.fault(replace(spec, mtls=False), SERVED) == "", "something in front of the gateway may have another certificate"
