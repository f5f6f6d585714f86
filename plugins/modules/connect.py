#!/usr/bin/python
# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: connect
short_description: Add a federation to the settings of your Flower CLI
version_added: 1.0.0
author: the federated.flower authors (@federated-flower)
description:
  - Writes a connection to the SuperLink of the host's cluster into C(config.toml) in the folder of Flower's settings, and the certificate of the CA
    into a file in the same folder, with mode 0600. Then C(flwr) works on this machine, through a forwarded port.
  - Other connections and comments in the file stay as they are. A connection that this module did not write is neither replaced nor removed.
  - It needs the rights of a data scientist. Only O(state=present) connects to the cluster.
  - It writes no tokens or accounts, because Flower requires a commercial licence for these.
  - This module is public. Changes of its options follow semantic versioning.
options:
  name:
    description: Name of the connection, for C(flwr run APP NAME). Letters, digits, C(_) and C(-).
    type: str
    required: true
  state:
    description: V(absent) removes the connection and the file with the certificate.
    type: str
    choices: [present, absent]
    default: present
  port:
    description: Port of this machine that is forwarded to the SuperLink.
    type: int
    default: 8000
  ca:
    description: File with the certificate of the federation's internal CA (PEM). By default it is read from the SuperLink's container, which needs the right
      to exec into the pod.
    type: path
  home:
    description: Folder of Flower's settings. Defaults to the environment variable E(FLWR_HOME), else C(~/.flwr).
    type: path
extends_documentation_fragment:
  - federated.flower.hub.namespace
  - federated.flower.hub.federation
  - kubernetes.core.k8s_auth_options
  - federated.flower.cluster
  - federated.flower.attributes
attributes:
  diff_mode:
    support: full
seealso:
  - module: federated.flower.run
  - module: federated.flower.runs_info
"""

EXAMPLES = r"""
---
- name: Connect this machine's Flower CLI to the federation
  federated.flower.connect:
    name: study
    port: 8001
"""

RETURN = r"""
config:
  description: Path of the file with the connection.
  returned: success
  type: str
  sample: /home/ann/.flwr/config.toml
forward:
  description: Command that forwards the port, without credentials. Empty if O(state=absent).
  returned: success
  type: str
  sample: kubectl --context hub -n flower port-forward pod/superlink-0 8000:8000
msg:
  description: What was done.
  returned: always
  type: str
  sample: wrote connection study in /home/ann/.flwr/config.toml
"""
