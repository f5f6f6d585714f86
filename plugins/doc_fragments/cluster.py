# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    """Where the auth options of a cluster come from, beside those of kubernetes.core."""

    DOCUMENTATION = r"""
options: {}
requirements:
  - kubernetes >= 29.0.0 (Python package, on the controller)
notes:
  - >-
    Which cluster is meant is decided in this order: the auth options of the task; the variables C(flower_auth) (a
    dictionary of the same options), C(flower_kubeconfig) and C(flower_context) of the host; the E(K8S_AUTH_*) environment
    variables; E(KUBECONFIG) or C(~/.kube/config); the service account of the pod that Ansible runs in.
  - A task that sets O(kubeconfig) or O(host) takes nothing from the variables of the host.
  - Of a kubeconfig only the wanted context is read. Private keys are loaded into memory, no file is left behind.
  - If no proxy is set, E(HTTPS_PROXY) and E(NO_PROXY) of the environment are used, as C(kubectl) does.
"""
