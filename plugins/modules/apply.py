#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: apply
short_description: Make a list of objects so in one cluster
version_added: 0.1.0
author:
  - the federated.flower authors (@federated-flower)
description:
  - Takes a list of Kubernetes objects and makes them so in one cluster by server-side apply, with the field manager C(federated.flower).
  - The live objects are read, as many as possible with one request, and compared with the wanted ones and with the fields that
    the field manager owns. So drift and removed fields are seen, and only objects that differ are written.
  - Namespaces and CustomResourceDefinitions are made first, then the other objects in the order of the list. Objects of a kind
    whose CustomResourceDefinition is in the list wait until the API server serves it.
  - An object that fails does not stop the others. The task then fails with a message for each object that failed.
  - Fields that another manager owns, and that the list sets, are taken over.
options:
  objects:
    description:
      - The objects, as dictionaries. C(kind=List) is unfolded.
      - C(status), null values and metadata that belongs to the API server are left out. C(stringData) of a Secret becomes C(data).
    type: list
    elements: dict
    required: true
  state:
    description:
      - V(present) makes the objects so.
      - V(absent) deletes the listed objects in reverse order, and all members of the O(applyset). A Namespace in the list is deleted
        with everything in it, a CustomResourceDefinition with all its objects.
    type: str
    choices:
      - present
      - absent
    default: present
  applyset:
    description:
      - Name of the set of these objects. The set remembers what was made, so that O(prune) finds objects that are no longer listed.
      - Its record is the ConfigMap C(applyset-NAME); the members carry its id in the label C(applyset.kubernetes.io/part-of), see
        U(https://git.k8s.io/enhancements/keps/sig-cli/3659-kubectl-apply-prune).
    type: str
  applyset_namespace:
    description:
      - Namespace of the record of the O(applyset). It must not change.
      - Defaults to the namespace of the first listed object that has one.
    type: str
  prune:
    description:
      - Delete members of the O(applyset) that are not in O(objects) any more.
      - Only objects that carry the label of the set and that the field manager C(federated.flower) wrote are ever deleted, and never
        a PersistentVolumeClaim, a PersistentVolume, a Namespace or a CustomResourceDefinition.
      - Defaults to V(true) if O(applyset) is given. Nothing is pruned when an object failed.
    type: bool
  wait:
    description:
      - Wait until all objects are ready, or with O(state=absent) gone. Pruned objects are waited for as well.
      - "Ready means: for a Deployment, StatefulSet and DaemonSet, the controller has seen the newest generation and all replicas are
        updated and available; for a PersistentVolumeClaim, Bound, or no pod uses it yet and its storage class binds on first use;
        for a CustomResourceDefinition, Established; for a Job, complete; for a Pod, Ready; for a Service of type LoadBalancer, it
        has an address; for a Namespace, Active; for a custom resource, the condition Ready (else Available) is true, if there is
        one. Everything else is ready at once."
      - When time is up, the message says for each object which condition is lacking, what its pods and containers tell, and the last
        events.
    type: bool
    default: false
  wait_timeout:
    description:
      - How long to wait, in seconds.
    type: int
    default: 300
  return_applied:
    description:
      - Return the objects as they are live now in RV(applied).
      - Off by default, because Ansible's parent process copies and cleans every result. With many clusters that takes longer than
        everything else.
    type: bool
    default: false
  refresh_pods:
    description:
      - Label selector of pods in O(applyset_namespace) that mount ConfigMaps or Secrets of the list.
      - When one of those was changed, the pods get an annotation, so that their kubelets bring them the new files within seconds
        instead of a minute or two. Nothing restarts.
    type: str
extends_documentation_fragment:
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
  - federated.flower.attributes.action
  - federated.flower.attributes.actiongroup_flower
attributes:
  check_mode:
    support: full
    details:
      - The API server is asked with a dry run, so schema, quota, admission and rights are checked.
      - Objects that need a Namespace or a CustomResourceDefinition that does not exist yet are told as created without asking; a
        warning says so if the list does not make it.
  diff_mode:
    support: full
    details:
      - One entry per object that differs. Values of Secrets are replaced by markers that only tell whether a value changed.
  idempotent:
    support: full
    details:
      - What counts is the content of the objects. Neither C(managedFields) nor C(resourceVersion) make a change.
notes:
  - C(objects) may hold Secrets. They never show in results, diffs and messages of this action, whatever the verbosity. Ansible itself
    can be told to show the options of tasks (E(ANSIBLE_DISPLAY_ARGS_TO_STDOUT)).
seealso:
  - module: kubernetes.core.k8s
"""

EXAMPLES = r"""
---
- name: Make a namespace and what belongs in it
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

- name: Remove everything that the set ever made
  federated.flower.apply:
    objects: []
    state: absent
    applyset: demo
    applyset_namespace: demo
    wait: true
"""

RETURN = r"""
msg:
  description: How many objects were created, changed, deleted and left alone, or what failed and why.
  returned: always
  type: str
  sample: 3 created, 1 changed, 9 unchanged, 1 deleted on site-a
objects:
  description: What became of each object.
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
      description: The namespace, empty for objects of the whole cluster.
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
        - SHA-256 of the object as it was applied, written as JSON with sorted keys and without blanks.
        - Values of secrets and of environment variables are left out of it.
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
      description:
        - What kind of error it is. One of V(forbidden), V(quota), V(webhook), V(policy), V(schema), V(immutable), V(invalid),
          V(conflict), V(not found), V(not served), V(terminating), V(too large), V(not tried), V(not ready), V(not gone), V(unreachable)
          and V(refused).
      type: str
      sample: forbidden
    message:
      description: The error, with the name of the object.
      type: str
      sample: "ConfigMap flower/superlink-cli: forbidden: user jane cannot patch configmaps in namespace flower (verb patch, resource configmaps)"
applied:
  description: The listed objects as they are live now, with their status, without C(managedFields), values of Secrets masked.
  returned: when O(return_applied=true)
  type: list
  elements: dict
requests:
  description: Number of HTTP requests that were sent to the API server.
  returned: always
  type: int
  sample: 8
"""
