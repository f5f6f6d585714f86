#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_config
short_description: Expand the placeholders of a node_config for every replica or node
version_added: 1.0.0
description:
  - Converts the C(node_config) of a pool of SuperNodes to the argument of C(flower-supernode --node-config), and shows
    for every replica or node the argument of the process and the values that Flower reads from it. No cluster is needed.
  - The filter P(federated.flower.node_config#filter) and the pods of this collection use the same rules.
  - This module is public. Changes of its options follow semantic versioning.
  - "B(Placeholders.) V({index}) is the number of the pod in its pool, from 0; V({replicas}) the number of pods of the
    pool; V({node}) the name of the Kubernetes node; V({pool}), V({cluster}), V({region}), V({namespace}) and
    V({federation}) are names; V({partition}) is the number of the pod in the whole fleet, O(first_partition) plus its
    number in the pool, and V({partitions}) is O(partitions)."
  - V({dataset:NAME}) is the path of a dataset in O(datasets), for example V({dataset:ct}). It is always a string.
  - A placeholder whose value is not set or is an empty string is unknown. Braces around an identifier
    that is not a known placeholder are rejected, also with other letter case or with spaces inside (V({Index}), V({ index })).
    Other braces are text, for example V({}), V({a-b}), V({0}) or a single one. There is no escape for braces around
    an identifier.
  - A pool counts either inside itself (V({index}), V({replicas})) or across the fleet (V({partition}),
    V({partitions})). Mixing both in one pool is rejected. A DaemonSet has none of the four, because its pods have no
    number.
  - "B(Types.) Integers, floats and booleans of YAML keep their type. Of the strings, one that is exactly V({index}),
    V({replicas}), V({partition}) or V({partitions}) becomes an integer; any other with a placeholder stays a string,
    even if it looks like a number after the expansion; V(true) and V(false) become booleans; a decimal integer within
    64 bits without leading zeros becomes an integer; everything else, V(0.01) included, is a string."
  - "The form V({string: '32'}) forces a string, also with placeholders. V({string: '{index}'}) gives the string V(0)."
  - "B(Keys) are letters, digits, V(_) and V(-) of ASCII. A dot makes a TOML table that Flower joins again with the
    dot, so V(data.split) is a key, but not beside V(data). Placeholders are not expanded in keys. Pairs are sorted by
    the bytes of the key."
  - "B(No shell.) The number of a pod is its pod-index label and the node name is its C(spec.nodeName), both given to
    the container as variables by the downward API. The kubelet inserts them into the argument. Every other V($) is
    doubled, which the kubelet reverts, so no value is expanded or executed."
author: the federated.flower authors (@federated-flower)
options:
  node_config:
    description:
      - "Keys and values as in the pool. Values are strings, integers, finite floats, booleans, or V({string: TEXT})."
      - A value in doubled braces is a Jinja expression for Ansible; write it with C(!unsafe) if it is not meant as one.
    type: dict
    required: true
  mode:
    description: Kind of the workload of the pool.
    type: str
    required: true
    choices: [StatefulSet, DaemonSet]
  pool:
    description: Name of the pool.
    type: str
    required: true
  replicas:
    description: Number of replicas of the pool. Required with O(mode=StatefulSet) and not allowed with O(mode=DaemonSet). At most 1000.
    type: int
  nodes:
    description:
      - Names of Kubernetes nodes for the preview. With O(mode=DaemonSet) there is one entry for each.
      - With O(mode=StatefulSet) the replicas are distributed over them in turn, as an example of what the scheduler may
        decide. Without nodes, V({node}) remains a reference to the variable.
    type: list
    elements: str
  cluster:
    description: Name of the cluster, the value of V({cluster}).
    type: str
  region:
    description: Region of the cluster, the value of V({region}).
    type: str
  namespace:
    description: Namespace of the pool, the value of V({namespace}).
    type: str
  federation:
    description: Name of the federation, the value of V({federation}).
    type: str
  first_partition:
    description: Number of the pool's first partition in the fleet. With V({partition}) the StatefulSet must count from it (C(spec.ordinals.start)).
    type: int
  partitions:
    description: Number of partitions of the whole fleet, the value of V({partitions}).
    type: int
  datasets:
    description:
      - Names of datasets and their paths in the container that computes, the values of V({dataset:NAME}).
      - The role C(supernode) sets it to the datasets of the pool, C(/data/NAME) each.
    type: dict
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
    details: Nothing is changed, so check mode makes no difference.
  diff_mode:
    description: Will return details on what has changed (or possibly needs changing in C(check_mode)), when in diff
      mode.
    support: none
    details: There is nothing to compare.
  idempotent:
    description: When run twice in a row outside check mode, with the same arguments, the second invocation indicates
      no change.
    support: full
  action:
    description: Indicates this has a corresponding action plugin so some parts of the options can be executed on the
      controller.
    support: full
  async:
    description: Supports being used with the C(async) keyword.
    support: none
    details: It runs completely on the controller.
  connection:
    description: Uses the target's configured connection information to execute code on it.
    support: none
notes:
  - The module runs on the controller for every connection type, and needs Python 3.11 or newer there.
  - Do not put secrets into a node_config. It can be read in the pod template and in the list of processes.
seealso:
  - plugin: federated.flower.node_config
    plugin_type: filter
"""

EXAMPLES = r"""
---
- name: Preview the node_config of every replica
  federated.flower.node_config:
    mode: StatefulSet
    pool: gpu
    replicas: 4
    node_config:
      partition-id: "{index}"
      num-partitions: "{replicas}"
      name: client_{pool}_{index}
      learning-rate: 0.01
      build: {string: "007"}
  register: expanded

- name: Show the values of replica 3
  ansible.builtin.debug:
    var: expanded.preview[3].config

- name: Count across the fleet
  federated.flower.node_config:
    mode: StatefulSet
    pool: gpu
    cluster: paris
    replicas: 2
    first_partition: 8
    partitions: 12
    node_config:
      partition-id: "{partition}"
      num-partitions: "{partitions}"
      site: "{cluster}"

- name: One SuperNode on each node
  federated.flower.node_config:
    mode: DaemonSet
    pool: edge
    nodes: [edge-1, edge-2]
    node_config:
      name: "{node}_{pool}"
"""

RETURN = r"""
argument:
  description:
    - Value of C(--node-config) in the args of the pod template, V(null) if there is nothing to pass.
    - It contains references to the variables in RV(env). Every other V($) is doubled.
  returned: success
  type: str
  sample: name="client_gpu_$(FLOWER_INDEX)" num-partitions=4 partition-id=$(FLOWER_INDEX)
env:
  description: Variables that the container needs from the downward API, as Kubernetes C(EnvVar) objects.
  returned: success
  type: list
  elements: dict
  sample:
    - name: FLOWER_INDEX
      valueFrom:
        fieldRef:
          fieldPath: metadata.labels['apps.kubernetes.io/pod-index']
preview:
  description: Result for every replica (StatefulSet) or every node of O(nodes) (DaemonSet).
  returned: success
  type: list
  elements: dict
  contains:
    index:
      description: Number of the replica in its pool, from 0.
      returned: O(mode=StatefulSet)
      type: int
      sample: 3
    partition:
      description: Number of the replica in the fleet.
      returned: O(mode=StatefulSet) and V({partition}) is used
      type: int
      sample: 11
    node:
      description: Name of the node.
      returned: O(mode=DaemonSet)
      type: str
      sample: edge-1
    argument:
      description: The argument as the process sees it, after the kubelet; V(null) if there is nothing to pass.
      returned: always
      type: str
      sample: name="client_gpu_3" num-partitions=4 partition-id=3
    config:
      description: The values that Flower reads, with types. Nested keys are joined with dots.
      returned: always
      type: dict
      sample:
        name: client_gpu_3
        num-partitions: 4
        partition-id: 3
error_code:
  description:
    - Code of the error. If there are several, the code of the first one in RV(errors).
    - V(unknown-placeholder), V(placeholder-not-allowed-in-daemonset) and V(mixed-counting) are about placeholders.
    - V(invalid-key) is a key that Flower cannot read. V(key-conflict) is a duplicate key, or a key that is both a value and a
      table.
    - V(unsupported-value) is a value of a type that Flower does not support, such as V(null), a list, another dictionary, an
      integer beyond 64 bits, or a value that cannot be represented in a result or in UTF-8 (V(.nan), V(.inf), half a surrogate pair).
    - V(invalid-parameter) is a missing or wrong parameter, V(argument-too-long) is an argument that exceeds the limit of Linux.
  returned: failure, if the input is invalid
  type: str
  sample: unknown-placeholder
errors:
  description: All errors of the input. RV(ignore:msg) has one line for each of them.
  returned: failure, if the input is invalid
  type: list
  elements: dict
  contains:
    code:
      description: As for RV(error_code).
      type: str
      returned: always
    key:
      description: The key, V(null) for an error of a parameter.
      type: str
      returned: always
    value:
      description: The value as given.
      type: raw
      returned: always
    position:
      description: Place in the value (in the key for V(invalid-key)), in characters from 1; V(null) if it has none.
      type: int
      returned: always
    placeholder:
      description: The placeholder as written, with its braces, or V(null).
      type: str
      returned: always
    nearest:
      description: The most similar known placeholder, with braces, or V(null).
      type: str
      returned: always
    parameter:
      description: The parameter, V(null) for an error of a key or value.
      type: str
      returned: always
    message:
      description: The error in one line, with pool, key, value, position and the most similar known placeholder.
      type: str
      returned: always
  sample:
    - code: unknown-placeholder
      key: name
      value: client_{indx}
      position: 8
      placeholder: "{indx}"
      nearest: "{index}"
      parameter: null
      message: >-
        pool 'gpu': node_config key 'name', value 'client_{indx}', position 8: unknown placeholder {indx};
        did you mean {index}? Known here: {index}, {node}, {pool}, {replicas}
"""
