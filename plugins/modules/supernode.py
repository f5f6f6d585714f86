#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: supernode
short_description: Check, deploy, heal, restart and remove the SuperNodes of sites
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    C(flower_delivery) and C(flower_key_source) of a host define how its site is reached and where its keys are created. Steps on the hub
    are done once for all sites.
  - >-
    V(present) gives the sites their partitions, creates missing keys and secrets, registers the keys at the SuperLink, applies the
    SuperNodes, waits until they are ready and online, and deletes keys that left.
  - >-
    V(absent) removes what was deployed, with its secrets; so does V(present) at sites whose variable C(supernode_state) is V(absent). Volumes are
    deleted in sites whose variable C(flower_delete_volumes) is true.
  - >-
    V(checked) changes nothing. It checks the variables of each site. If they are good, it connects to its cluster, names missing rights, asks the API
    server by a server-side dry run whether it accepts the objects (if a workload is new or changes), refuses a cluster with IPv6 only, warns if a pool
    requests a GPU that no node has, and compares clocks. For a site that is reached through Open Cluster Management only its hub is queried;
    faults that prevent delivery are reported with the remedy.
  - >-
    V(described) gives the Roles, bindings and ServiceAccounts that are needed in the clusters of sites as objects. No cluster is contacted. A site
    without direct access to its API server needs none.
  - >-
    V(pulled) compares the images of each pool with those that its variables want. For each node with a pod of a pool whose images change, a Job pulls the
    new ones. It has the account, pull secrets, tolerations and security contexts of that pool, and requests next to nothing and no GPU. The Jobs are
    deleted at the end, and those of a run that was interrupted by the next run, or by the cluster when their time is over. No pod of the site is
    changed. A site fails if one of its nodes cannot pull an image. Sites whose nodes cannot be queried, because they are reached through Open Cluster
    Management
    or get bundles, are skipped, and the result reports it. The variable C(flower_upgrade_pull) of a host, V(true) by default, is whether this is done for
    it, C(flower_upgrade_pull_timeout) for how many seconds at most, V(900) by default.
  - >-
    V(healed) finds the SuperNodes whose pods are ready, but which are offline at the SuperLink, deletes their pods one after the other at each site, and
    waits until each is online again. Sites are served at the same time. After half an hour no further pod is deleted; the next run continues. Nothing is
    restarted if the SuperLink does not run or has just started, or if the SuperNodes of all of several sites are offline. If the SuperLink does not run,
    RV(fault) reports it without an error, so that a playbook can repair it. A SuperNode that does not come back is restarted again after 5, 15 and 60
    minutes, and
    then only reported. If no SuperNode of a site is online, the same applies to the site. The site's record on the hub stores the restarts. At a site that is
    reached through Open Cluster Management, pods cannot be restarted from the control node; its SuperNodes are only reported.
  - >-
    V(restarted) deletes the pods of the ServerApp, if O(serverapp), and then those of SuperNodes and ClientApps, one site after the other. Before each it
    waits until no run is active, and after it until the new pods are ready and the SuperNodes online. The first host that fails ends it. If a host has no
    such pods, or the control node cannot reach them, nothing is restarted.
  - >-
    Private keys do not appear in results, diffs or messages.
  - >-
    This module is a step of the roles C(federated.flower.supernode) and C(federated.flower.clientapp). Its options may change in any release.
options:
  state:
    description: What is done.
    type: str
    choices: [absent, checked, described, healed, present, pulled, restarted]
    default: present
  part:
    description: V(clientapp) deploys only the ClientApps of sites where they run in their own pods, according to the variables of the role clientapp of each
      site.
    type: str
    choices: [all, clientapp]
    default: all
  before:
    description: Site to its state before an upgrade (C(version), C(workloads)). These sites get that release and those images again, regardless of their
      variables.
    type: dict
    default: {}
  image_seconds:
    description: Seconds for which nodes may fail to get an image before a site fails. With V(0) it is a minute where a registry refuses the image or the
      login; otherwise as long as for anything else, since a registry may come back. For sites that are reached directly.
    type: int
    default: 0
  wait_timeout:
    description: Seconds to wait until the SuperNodes whose pods V(healed) or V(restarted) replaces are online, which require it.
    type: int
  hub_checked:
    description: >-
      With V(checked), what M(federated.flower.superlink) returned for the hub; empty if it was not checked. The identity of the hub is then read from its
      ledger.
    type: dict
    default: {}
  ocm_checked:
    description: With V(checked), what M(federated.flower.ocm_addon) returned for the hub; empty if it was not checked.
    type: dict
    default: {}
  rights:
    description: With V(described), who the holders of the rights are, as the playbook C(federated.flower.rbac) assembles it.
    type: dict
    default: {}
  beside:
    description: With V(described), the rights of the hub in the same cluster. Objects of the same kind, namespace and name are left out.
    type: list
    elements: dict
    default: []
  restart:
    description: Whether V(healed) restarts them; otherwise it shows what would be restarted.
    type: bool
    default: false
  all:
    description: Whether V(healed) restarts all of a site at once.
    type: bool
    default: false
  after:
    description: Seconds for which a pod must have been ready, its SuperNode offline and the SuperLink running before V(healed) restarts it.
    type: int
    default: 180
  serverapp:
    description: Whether V(restarted) restarts the ServerApp on the hub as well.
    type: bool
    default: false
  wait:
    description: Seconds for which V(restarted) waits for the end of active runs. V(0) refuses at once.
    type: int
    default: 3600
extends_documentation_fragment:
  - federated.flower.fleet
  - federated.flower.attributes
attributes:
  check_mode:
    details: V(pulled) says which images would be pulled on which nodes, and checks the rights that are needed.
  diff_mode:
    support: full
"""

EXAMPLES = r"""
---
- name: Check the sites
  federated.flower.supernode:
    state: checked
  run_once: true
  register: checked

- name: Deploy the SuperNodes
  federated.flower.supernode:
  run_once: true
  register: deployed

- name: Report the site
  federated.flower.site_result:
    results: ["{{ deployed.sites[inventory_hostname] | default({}) }}"]
"""

RETURN = r"""
msg:
  description:
    - How many sites there were, and which of them failed.
    - When healed, how many SuperNodes were healed, are to be restarted, wait, and are given up.
  returned: always
  type: str
sites:
  description:
    - >-
      For each site C(changed), C(failed) and C(msg), and, if there are any, C(objects) (the result for each), C(diff), C(warnings) and
      C(requests).
    - When checked, also C(flower), what its variables deploy, and C(version), C(skew) and C(rehearsed) of its API server.
    - When described, also C(rights), the objects, and C(own_access), whether there is direct access to its API server.
    - >-
      When pulled, also C(images) and C(nodes), which are empty if there was nothing to pull, and C(skipped), why nothing can be pulled there.
    - >-
      When deployed for a SuperLink that is not in the inventory, also C(superlink), its address, and C(public_keys), each with C(pool), C(name),
      C(fingerprint) and C(public_key), for its administrator.
  returned: success
  type: dict
removed:
  description: Sites that were removed since their variable C(supernode_state) is V(absent), to be unregistered at the hub.
  returned: when deployed and there are any
  type: list
  elements: str
lines:
  description: The result as text, for each site when pulled or restarted, for the SuperNodes when healed.
  returned: when pulled, healed or restarted
  type: list
  elements: str
healed:
  description:
    - SuperNodes that are online after a restart, each with C(site), C(pool), C(name), C(node_id), C(pod), C(why) and C(seconds).
    - C(seconds) is the time within which it was back. All sites are checked together, so a site that answers late adds to the time of others.
  returned: when healed
  type: list
  elements: dict
due:
  description: SuperNodes that would be restarted, with O(restart).
  returned: when healed
  type: list
  elements: dict
waiting:
  description: SuperNodes that are not restarted yet.
  returned: when healed
  type: list
  elements: dict
given_up:
  description: SuperNodes that are not restarted any more.
  returned: when healed
  type: list
  elements: dict
unreadable:
  description: Why sites could not be read, by site.
  returned: when healed
  type: dict
fault:
  description: The fault of the hub because of which nothing more is restarted; empty if there is none.
  returned: when healed
  type: str
pause:
  description: Why nothing is restarted yet; empty otherwise.
  returned: when healed
  type: str
held:
  description: Hosts that are not repaired, because an incomplete upgrade has rolled them back or has not reached them yet.
  returned: when healed
  type: list
  elements: str
upgrade:
  description: Progress of that upgrade; empty if there is none.
  returned: when healed
  type: str
"""
