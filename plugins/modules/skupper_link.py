#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: skupper_link
short_description: Link a Skupper site to the hub, or take the link away
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - >-
    Gets the site a client certificate of the hub's Skupper site, as a Secret, and makes a Link for each group of the
    hub's endpoints. Then waits until a Link is up and leads to the hub's Site, which is told by that Site's uid.
  - >-
    The first certificate comes in one of two ways (C(mode) of O(spec)). With V(direct) the hub's Skupper makes it
    from a Certificate, and this module brings it to the site in memory. With V(token) the site's controller fetches
    it from the hub's grant server, by an AccessToken for one redemption; a token that was expired, used up, refused,
    or redeemed for a Site that is gone, is replaced.
  - >-
    From then on both are the same. Secret and Links follow the hub: when its address changes, when its CA is another
    one, and when half of the certificate's lifetime is over (or C(renew_before) of O(spec) before its end), they are
    changed in place. No Link is made anew.
  - >-
    A site with a Link to the hub that somebody else made is left alone. A denied site
    (M(federated.flower.site_access)) is neither linked nor renewed.
  - >-
    Run by the role C(skupper_link).
options:
  spec:
    description:
      - The specification, put together by the role from its variables (C(__skupper_link_spec)).
    type: dict
    required: true
  hub:
    description:
      - >-
        Inventory name of the hub. Its cluster is found by that host's variables C(flower_auth),
        C(flower_kubeconfig) and
        C(flower_context).
    type: str
    required: true
  renew:
    description:
      - Whether the site's certificate is replaced however good it is.
    type: bool
    default: false
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.skupper
  - federated.flower.attributes
  - federated.flower.attributes.action
  - federated.flower.attributes.actiongroup_flower
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
"""

EXAMPLES = r"""
---
- name: Link the site to the hub
  federated.flower.skupper_link:
    spec: "{{ __skupper_link_spec }}"
    hub: hub
"""

RETURN = r"""
msg:
  description: What was done, in a sentence.
  returned: always
  type: str
objects:
  description: What became of each object (see M(federated.flower.apply)).
  returned: success
  type: list
  elements: dict
hub_objects:
  description: Objects of the hub that changed.
  returned: when there are any
  type: list
  elements: dict
site:
  description: The site.
  returned: success
  type: str
denied:
  description: Whether the site is denied, so that nothing was done.
  returned: success
  type: bool
link:
  description: >-
    The link: C(names) and C(uids) of its Links, C(adopted), C(ready), C(remote) (C(name) and C(uid) of the hub's
    Site), C(site_uid),
    C(certificate) (public facts) and C(trusts) (serials of the CAs that the site trusts). Empty where there is none.
  returned: success
  type: dict
"""
