# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""tinyproxy.py: print the folder with tinyproxy of Debian's package tinyproxy-bin. It is fetched if the cache has none.

Unpacked and not installed: its service would start.
"""

from __future__ import annotations

from debian_packages import ensure

if __name__ == "__main__":
    print(ensure("tinyproxy-bin", "usr/bin/tinyproxy"))
