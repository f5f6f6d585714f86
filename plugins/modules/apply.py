#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: apply
short_description: Apply Kubernetes objects to a cluster
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - >-
    Applies a list of Kubernetes objects to one cluster by server-side apply, with the field manager
    C(federated.flower).
  - >-
    The live objects are read with as few requests as possible and compared with the wanted objects and with the
    fields that the field manager owns. Drift and removed fields are detected, and only objects that differ are
    written.
  - >-
    Namespaces and CustomResourceDefinitions are created first, then the other objects in the order of the list.
    Objects whose CustomResourceDefinition is in the list wait until the API server serves their kind.
  - An object that fails does not stop the others. The task then fails with a message for each failed object.
  - >-
    A pod of a listed StatefulSet of this collection that is not ready and has a former template is deleted, so that it is created from the
    new one: Kubernetes does not replace such a pod.
  - Takes over fields that are in the list and that another field manager owns.
  - >-
    An object with the labels C(app.kubernetes.io/managed-by=federated.flower) and C(app.kubernetes.io/instance) only
    replaces one with the same labels. If the live object belongs to someone else, nothing is written, and the error
    names the object and its owner, and how to resolve the conflict.
  - This module is public. Changes of its options follow semantic versioning.
options:
  objects:
    description:
      - The objects, as dictionaries. C(kind=List) is expanded.
      - C(status), null values and metadata that the API server manages are ignored. C(stringData) of a Secret becomes C(data).
    type: list
    elements: dict
    required: true
  state:
    description:
      - V(present) creates or updates the objects.
      - V(absent) deletes the listed objects in reverse order, and all members of the O(applyset). A Namespace in the list is deleted
        with everything in it, a CustomResourceDefinition with all its objects.
      - A listed object that the field manager C(federated.flower) never wrote to is not deleted, except pods of workloads of this collection; the task
        fails before it deletes anything.
    type: str
    choices:
      - present
      - absent
    default: present
  applyset:
    description:
      - Name of the set of these objects. The set records its members, so that O(prune) finds objects that are no longer listed.
      - Its record is the ConfigMap C(applyset-NAME); the members carry its id in the label C(applyset.kubernetes.io/part-of), see
        U(https://git.k8s.io/enhancements/keps/sig-cli/3659-kubectl-apply-prune).
    type: str
  applyset_namespace:
    description:
      - Namespace of the record of the O(applyset). Do not change it later.
      - Defaults to the namespace of the first listed object that has one.
    type: str
  unrecorded_kinds:
    description:
      - With O(state=absent), kinds whose members are looked for in the whole cluster where the record of the O(applyset) is missing, for
        example because its namespace was deleted. Each is C(KIND.GROUP), or C(KIND) for a kind without a group.
      - The task warns of kinds that the identity cannot list.
    type: list
    elements: str
    default: []
  prune:
    description:
      - Delete members of the O(applyset) that are no longer in O(objects).
      - Only objects with the label of the set that the field manager C(federated.flower) wrote are deleted, but never
        a PersistentVolumeClaim, a PersistentVolume, a Namespace or a CustomResourceDefinition.
      - Defaults to V(true) if O(applyset) is given. Nothing is pruned if an object failed.
    type: bool
  wait:
    description:
      - Wait until all objects are ready, or deleted with O(state=absent). This includes pruned objects.
      - "Ready means: for a Deployment, StatefulSet and DaemonSet, the controller has observed the newest generation and all replicas are
        updated and available; for a PersistentVolumeClaim, Bound, or no pod uses it yet and its storage class binds on first use;
        for a CustomResourceDefinition, Established; for a Job, complete; for a Pod, Ready; for a Service of type LoadBalancer, it
        has an address; for a Namespace, Active; for a custom resource, the condition Ready (else Available) is true, if there is
        one. All other objects are ready at once."
      - After the timeout, the message contains for each object the missing condition, the state of its pods and containers, and the last
        events.
    type: bool
    default: false
  wait_timeout:
    description: Seconds to wait. While a workload replaces its pods one after the other, counted from the last one that was replaced.
    type: int
    default: 300
  return_applied:
    description:
      - Return the live objects in RV(applied).
      - Off by default, because Ansible's parent process copies and sanitizes every result. With many clusters this takes longer than
        everything else.
    type: bool
    default: false
  refresh_pods:
    description:
      - Label selector of pods in O(applyset_namespace) that mount ConfigMaps or Secrets of the list.
      - If one of them changed, the pods get an annotation, so that their kubelets update the mounted files within seconds
        instead of a minute or two. Nothing restarts.
    type: str
  owner:
    description: The owner of the deployment. It is stored in the record of the set. A set of another owner is refused.
    type: dict
    suboptions:
      federation:
        description: Name of the federation.
        type: str
        required: true
      site:
        description: Inventory name of the site; empty for a hub.
        type: str
        default: ""
      hub:
        description: Identity of the hub, as M(federated.flower.supernode) returns it. Not compared if empty.
        type: str
        default: ""
  part:
    description:
      - The part of a federation that the objects belong to, where hub and site share the O(applyset). Members that belong to the
        other part are neither pruned nor deleted, nor are ServiceAccounts that its bindings name.
      - With V(site), a Namespace that the hub uses as well is not changed.
    type: str
    choices: [hub, site]
  claim:
    description: Whether a set of another owner is taken over.
    type: bool
    default: false
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
attributes:
  check_mode:
    details:
      - Uses a server-side dry run, so schema, quota, admission and rights are checked.
      - Objects whose Namespace or CustomResourceDefinition does not exist yet are reported as created without a request. If the
        list does not create it, there is a warning.
  diff_mode:
    support: full
    details:
      - One entry per object that differs. Values of Secrets are replaced by markers that only show whether a value changed.
  idempotent:
    details:
      - Only the content of the objects counts. Differences in C(managedFields) or C(resourceVersion) are ignored.
notes:
  - C(objects) may hold Secrets. They do not appear in results, diffs and messages of this action, at any verbosity. Ansible itself
    can be configured to show the options of tasks (E(ANSIBLE_DISPLAY_ARGS_TO_STDOUT)).
seealso:
  - module: kubernetes.core.k8s
"""

EXAMPLES = r"""
---
- name: Create a namespace with a ConfigMap
  federated.flower.apply:
    context: hub
    applyset: demo
    applyset_namespace: demo
    objects:
      - apiVersion: v1
        kind: Namespace
        metadata:
          name: demo
      - apiVersion: v1
        kind: ConfigMap
        metadata:
          name: greeting
          namespace: demo
        data:
          text: hello

- name: Apply all manifests of a folder and wait until they are ready
  federated.flower.apply:
    objects: "{{ lookup('ansible.builtin.fileglob', 'manifests/*.yml', wantlist=true) | map('ansible.builtin.file') |
      map('from_yaml_all') | flatten }}"
    wait: true
    wait_timeout: 600

- name: Delete all members of the set
  federated.flower.apply:
    objects: []
    state: absent
    applyset: demo
    applyset_namespace: demo
    wait: true
"""

RETURN = r"""
msg:
  description: Number of objects that were created, changed, deleted and unchanged, or the errors.
  returned: always
  type: str
  sample: 3 created, 1 changed, 9 unchanged, 1 deleted on site-a
objects:
  description: Result for each object.
  returned: always
  type: list
  elements: dict
  contains:
    apiVersion:
      description: The API version.
      type: str
      sample: apps/v1
    kind:
      description: The kind.
      type: str
      sample: StatefulSet
    namespace:
      description: The namespace, empty for cluster-scoped objects.
      type: str
      sample: flower
    name:
      description: The name.
      type: str
      sample: superlink
    change:
      description: One of V(created), V(changed), V(unchanged), V(deleted) and V(failed).
      type: str
      sample: changed
    sha256:
      description:
        - SHA-256 of the object as it was applied, as JSON with sorted keys and without whitespace.
        - Values of Secrets and of environment variables are removed before hashing.
      type: str
      returned: when the object was created or changed and is not a Secret
      sample: 2f0c1a7d9c4e6b8a0d1e2f3a4b5c6d7e8f90112233445566778899aabbccddee
errors:
  description: The objects that failed.
  returned: when objects failed
  type: list
  elements: dict
  contains:
    apiVersion:
      description: The API version.
      type: str
      sample: v1
    kind:
      description: The kind.
      type: str
      sample: ConfigMap
    namespace:
      description: The namespace.
      type: str
      sample: flower
    name:
      description: The name.
      type: str
      sample: superlink-cli
    category:
      description: Kind of the error. One of V(forbidden), V(quota), V(webhook), V(policy), V(schema), V(immutable), V(invalid), V(conflict), V(not found),
        V(not served), V(terminating), V(foreign), V(held), V(unseen), V(too large), V(not tried), V(not ready), V(not gone), V(unreachable) and V(refused).
      type: str
      sample: forbidden
    message:
      description: The error, with the name of the object.
      type: str
      sample: "ConfigMap flower/superlink-cli: forbidden: user jane cannot patch configmaps in namespace flower (verb patch, resource configmaps)"
applied:
  description: The live objects with their status, without C(managedFields), with masked values of Secrets.
  returned: when O(return_applied=true)
  type: list
  elements: dict
requests:
  description: Number of HTTP requests to the API server.
  returned: always
  type: int
  sample: 8
"""
