# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""What is applied to every new cluster. An add-on is a module with the function ``addon(cluster)``; later ones (a fleet
manager) join ``ALL``, and their images ``images.recipes``. One that is started only when a test asks for it is a module
with ``up(settings, console, state, hub)`` and ``down(settings, state, hub)`` in ``ON_DEMAND`` of cli.py; ``ocm``, which
has additional options and verbs, has ``add_verbs`` and ``run`` there instead.
"""

from __future__ import annotations

from collections.abc import Callable

from ..settings import Cluster
from . import dns, storage
from .base import Addon

ALL: tuple[Callable[[Cluster], Addon], ...] = (dns.addon, storage.addon)
