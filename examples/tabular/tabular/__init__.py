# SPDX-License-Identifier: Apache-2.0
"""A classifier of tumours, trained on tables that stay at the sites."""
