# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""What is applied to every new cluster. An add-on is a module with the function ``addon(cluster)``; later ones (a fleet
manager, a certificate manager) join ``ALL``, and their images ``images.recipes``.
"""

from __future__ import annotations

from collections.abc import Callable

from ..settings import Cluster
from . import dns, storage
from .base import Addon

ALL: tuple[Callable[[Cluster], Addon], ...] = (dns.addon, storage.addon)
