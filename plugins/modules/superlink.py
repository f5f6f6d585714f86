#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: superlink
short_description: Check the hub and deploy the SuperLink
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    Reads the variables of the role C(federated.flower.superlink) for the host of the task. Wrong variables are reported with their values
    before the cluster is contacted.
  - >-
    V(checked) changes nothing. It reports verb, resource and namespace of every right that the identity lacks; asks the API server by a server-side
    dry run whether it accepts the objects, if a workload is new or changes (those of a namespace that does not exist yet are tried in C(default));
    checks volumes, and the certificate that the gateway is going to serve, as far as it exists (key, names that sites verify, chain, validity); and
    compares the clocks of the control node and the hub.
  - >-
    V(checked) refuses a hub that does not serve, whose restore was interrupted, or whose pod with running ServerApps would be replaced; a hub without
    client certificates while a site is denied; and sites that verify a name by which what passes TLS through does not find
    the gateway; and what is in front of the gateway where it does not pass TLS through.
  - >-
    V(present) applies namespace and Services, finds the address of the gateway, creates the Secrets that are missing or no longer valid, and applies the
    rest. A CA is created only if there is none. If sites do not trust the CA of a new certificate yet, the gateway keeps its certificate, both CAs are
    published, and the next run continues from there. Without a check before, the hub is checked first.
  - Private keys are written to Secrets. They do not appear in results, diffs or messages.
  - This module is a step of the role C(federated.flower.superlink). Its options may change in any release.
options:
  state:
    description:
      - V(present) deploys the SuperLink, V(services) only its namespace and Services.
      - V(checked) checks everything and changes nothing; V(described) returns the specification from the variables, without a connection.
    type: str
    choices: [checked, described, services, present]
    default: present
  works:
    description: Tasks that the identity is going to perform. Rights for other tasks are not checked.
    type: list
    elements: str
    choices: [deploy, rotate, upgrade, teardown, logs]
    default: [deploy]
  serves_later:
    description: Whether the hub is a standby that is going to serve after a failover. Then it is not refused for not serving.
    type: bool
    default: false
  rights:
    description: With V(described), return the objects of the rights in RV(objects), for the holders that the playbook C(federated.flower.rbac) names.
    type: dict
  policy:
    description: With V(described), return in RV(objects) what Advanced Cluster Management observes, as a policy; C(remediation), and C(labels) of the hub's
      ManagedCluster.
    type: dict
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
"""

EXAMPLES = r"""
---
- name: Check the hub
  federated.flower.superlink:
    state: checked
  register: superlink_checked

- name: Deploy the SuperLink
  federated.flower.superlink:
"""

RETURN = r"""
msg:
  description: Summary of what was done.
  returned: always
  type: str
objects:
  description: Result for each object, or the objects that O(rights) or O(policy) requests.
  returned: success, except when checked
  type: list
  elements: dict
version:
  description: Version of the API server.
  returned: when checked
  type: str
platform:
  description: What the cluster is, V(kubernetes) or V(openshift).
  returned: when checked
  type: str
namespace:
  description: Namespace of the SuperLink.
  returned: when checked
  type: str
places:
  description: What identifies the namespace of the SuperLink, unique in all clusters.
  returned: when checked
  type: list
  elements: str
identity:
  description: The identity that the ledger of the hub holds; V(new) where there is no ledger yet.
  returned: when checked
  type: str
skew:
  description: Seconds by which the API server's clock is ahead of the control node's, accurate to about a second.
  returned: when checked
  type: float
rehearsed:
  description: Whether the API server checked the objects by a dry run, because a workload is new or is going to change.
  returned: when checked
  type: bool
flower:
  description: What the variables deploy, C(version) and C(workloads) with the images of their containers.
  returned: when checked
  type: dict
client_certificates:
  description: Whether the gateway is going to request client certificates, V(required), V(optional) or V(none).
  returned: when checked
  type: str
skupper:
  description: Whether sites reach the hub through a Skupper network.
  returned: when checked
  type: bool
route_api:
  description: The apiVersion of TLSRoutes that is used, empty with another exposure.
  returned: when checked
  type: str
lost_sites:
  description: Sites whose variables prevent them from reaching the gateway, with the fault of each.
  returned: when checked
  type: dict
pod_security:
  description: The Pod Security level that the Namespace is going to enforce, empty for none. Null if someone else creates it.
  returned: when checked
  type: str
certificate:
  description: >-
    The certificate that the gateway serves, or is going to serve: C(subject), C(issuer), C(serial), C(not_before), C(not_after), C(names) and
    C(fingerprint). When deployed, also C(source), C(name) and C(namespace) of its Secret; when checked, also C(pem), with its chain. Empty if it does not
    exist yet.
  returned: when checked or deployed
  type: dict
address:
  description: The C(host:port) that sites connect to.
  returned: when deployed
  type: str
host:
  description: Host part of RV(address).
  returned: when deployed
  type: str
ca_bundle:
  description: The CA bundle of the sites, PEM.
  returned: when deployed
  type: str
secret:
  description: Name of the Secret with the certificate and key that the gateway serves.
  returned: when deployed
  type: str
storage_size:
  description: The size with which the volume of the SuperLink's database was created, which its StatefulSet keeps. Empty if there is none yet.
  returned: when deployed
  type: str
names:
  description: Names that a certificate for the gateway must cover.
  returned: when deployed
  type: list
  elements: str
server_name:
  description: Name under which sites connect to the gateway, and against which they verify its certificate.
  returned: when deployed
  type: str
trust:
  description: Each certificate of RV(ca_bundle) with the facts of RV(certificate).
  returned: when deployed
  type: list
  elements: dict
certificates:
  description: Internal certificates with the facts of RV(certificate).
  returned: when deployed
  type: list
  elements: dict
"""
