# SPDX-License-Identifier: Apache-2.0
"""A small Flower app for a first run on a new federation."""
