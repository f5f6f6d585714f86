# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Sources of the authentication options of a cluster, in addition to those of kubernetes.core."""

    DOCUMENTATION = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/federated.flower.flower) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - federated.flower.flower
requirements:
  - kubernetes >= 29.0.0 (Python package, on the controller)
notes:
  - >-
    The cluster is determined in this order: the authentication options of the task; the variables C(flower_auth) (a
    dictionary of the same options), C(flower_kubeconfig) and C(flower_context) of the host; the E(K8S_AUTH_*) environment
    variables; E(KUBECONFIG) or C(~/.kube/config); the service account of the pod that Ansible runs in.
  - If a task sets O(kubeconfig) or O(host), the variables of the host are ignored.
  - Only the selected context of a kubeconfig is read. Private keys are loaded into memory and not written to files.
  - If no proxy is set, E(HTTPS_PROXY) and E(NO_PROXY) are used, as in C(kubectl).
"""
