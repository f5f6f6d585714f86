# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How many connections this process may keep open."""

from __future__ import annotations

import resource

# For everything else than connections to sites: modules, pipes, the hub's connections, credential plugins.
_OTHERS = 200
# Often more than the processes of a system may have together; nothing here needs more.
_MOST = 16384


def enough_for(connections: int) -> bool:
    """Whether this process may open so many connections besides its other files.

    The soft limit is raised as far as the hard limit allows; it ends with the process, which Ansible starts for each task.
    """
    wanted = connections + _OTHERS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or wanted <= soft:
        return True
    if wanted > _MOST or (hard != resource.RLIM_INFINITY and wanted > hard):
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return True
