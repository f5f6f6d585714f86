# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""haproxy.py: print the folder with HAProxy of Debian's package, with what it needs. It is fetched if the cache has none.

Unpacked and not installed: the package would start a server.
"""

from __future__ import annotations

from debian_packages import ensure

if __name__ == "__main__":
    print(ensure("haproxy", "usr/sbin/haproxy", needs=True))
