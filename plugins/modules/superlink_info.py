#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: superlink_info
short_description: Return the state of the hub
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - Reads the ledger, the certificate, the pods, and Flower's lists of SuperNodes and runs.
  - If the hub cannot be reached, the task does not fail. See RV(reachable).
  - This module is public. Changes of its options follow semantic versioning.
options:
  hub:
    description: Inventory name of the hub. Defaults to the host of the task.
    type: str
  timeout:
    description: Seconds to wait for a response of the API server.
    type: int
    default: 10
  wait_timeout:
    description: Seconds to wait until the pods are ready. Pods that the cluster refused to create before are tried again. To that end, an annotation is set
      on their workload and removed.
    type: int
    default: 0
  skupper:
    description: Whether sites connect through Skupper. If V(true), the state of the network is returned, too.
    type: bool
    default: false
  outputs:
    description: Whether to return the free space on the volume for outputs of runs.
    type: bool
    default: false
  curves:
    description: Number of the newest runs whose metrics of all rounds are returned. They are read from the logs.
    type: int
    default: 0
  all_runs:
    description: Whether all runs are returned, however many there are. Each takes about 4 ms. Otherwise they are the newest 100.
    type: bool
    default: false
    version_added: 1.0.0
extends_documentation_fragment:
  - federated.flower.hub.namespace
  - federated.flower.hub.federation
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
"""

EXAMPLES = r"""
---
- name: Read the state of the hub
  federated.flower.superlink_info:
    hub: hub
  register: superlink
"""

RETURN = r"""
reachable:
  description: Whether the cluster responded.
  returned: always
  type: bool
error:
  description: Error of the cluster or of Flower.
  returned: always
  type: str
deployed:
  description: Whether a SuperLink is deployed.
  returned: always
  type: bool
address:
  description: The C(host:port) that sites connect to.
  returned: always
  type: str
version:
  description: Flower release.
  returned: always
  type: str
workloads:
  description: The workloads with C(desired) and C(ready).
  returned: always
  type: list
  elements: dict
trouble:
  description: Reasons why pods are not ready, and what of a deployed hub was deleted or scaled to 0.
  returned: always
  type: str
certificate:
  description: >-
    The certificate that the gateway serves: C(secret) with the certificate, C(subject), C(issuer), C(serial), C(not_before),
    C(not_after), C(names), C(fingerprint), C(fault), the reason why sites reject it, and C(ca), C(subject), C(not_before) and C(not_after) of the CA
    of its chain that ends first. Empty if nothing is deployed.
  returned: always
  type: dict
trust:
  description: The CAs in the CA bundle of the sites, with the same facts.
  returned: always
  type: list
  elements: dict
partitions:
  description: Partitions of the fleet.
  returned: always
  type: int
sites:
  description: >-
    The ledger, by site. C(access) is the time and reason of a denial, C(client) describes the client certificate,
    C(datasets) are the datasets of each pool. C(promised) are those of bundle sites that may not have applied them yet,
    for each pool with the version of the bundle.
  returned: always
  type: dict
nodes:
  description: Flower's SuperNodes, by node id.
  returned: always
  type: dict
runs:
  description: >-
    Flower's runs, see O(all_runs). With O(curves), C(curves) of the newest ones: place and name of a metric, as in C(evaluate accuracy), with a
    list of rounds and values.
  returned: always
  type: list
  elements: dict
unknown_nodes:
  description: >-
    Node ids that are not in the ledger. Empty while the record of a site cannot be read, since they may be in that record, and where the hub is RV(insecure).
  returned: always
  type: list
  elements: str
network:
  description: >-
    The Skupper network as seen from the hub: C(site), C(linked) (site -> whether its link is operational), C(listeners),
    C(connector), C(certificates)
    (public facts). Empty without O(skupper).
  returned: always
  type: dict
insecure:
  description: >-
    Whether the hub was deployed without TLS and node authentication. Then the ledger has no keys, and the SuperNodes of a site cannot be identified.
  returned: always
  type: bool
backup:
  description: When the last backup of the hub was started (C(at)), and C(archive) and C(bytes). Empty if the hub has no record of one.
  returned: always
  type: dict
schedules:
  description: Trainings on a calendar, as M(federated.flower.run_schedule) returns them. Empty if they may not be read.
  returned: always
  type: list
  elements: dict
federation:
  description: The federation's name.
  returned: always
  type: str
upgrade:
  description: Progress of an incomplete upgrade. Empty if there is none.
  returned: always
  type: str
lease:
  description: >-
    Who is changing the fleet now, and since when; or C(ended), who did not return the lease before it ended. Empty if
    the fleet is not being changed, or if the right to read C(leases) is missing.
  returned: always
  type: dict
  sample:
    holder: jane@laptop, federated.flower.site
    since: "2026-11-22T12:00:00+00:00"
outputs:
  description: >-
    The volume for outputs of runs: C(size), C(free) and C(min_free) in bytes, and C(error), the reason why they are unknown. With
    C(superlink_outputs_s3) also C(bucket), where outputs are uploaded, C(not_uploaded), the ids of finished runs whose outputs are not there, and
    C(bucket_error), the reason why that is unknown. Empty without O(outputs), and if the federation keeps no outputs.
  returned: always
  type: dict
"""
