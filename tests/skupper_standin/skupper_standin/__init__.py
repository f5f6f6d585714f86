# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""A stand-in for Skupper 2.2.1's controller and router, for tests on clusters where the real ones cannot be had.

It keeps to what is known of the real ones; ``§`` in the code names the paragraph of README.md with that contract.
Nothing outside of tests/ knows it.

Rooms: ``crds`` (the API), ``kube`` and ``store`` (reading and writing clusters), ``pki``, ``conditions``; the controller
is ``controller`` with one module for each kind of work: ``site``, ``certificates``, ``access`` (RouterAccess,
SecuredAccess), ``links``, ``bindings`` (Listener, Connector ...), ``tokens`` and ``grants`` (AccessGrant, AccessToken, the
grant server), ``profiles`` (revisions of TLS Secrets), ``network`` (who sees whom); ``router`` is the program of the
router pods; ``installation`` is what an installation of Skupper puts into a cluster; ``switches`` makes it misbehave.
"""

from __future__ import annotations
