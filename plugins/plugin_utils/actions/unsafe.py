# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Text from others, which must never be treated as a template."""

from __future__ import annotations

from typing import Any

import ansible.template

if hasattr(ansible.template, "trust_as_template"):

    def unsafe(value: Any) -> Any:
        """The value, with all text in it, keys included, marked as no template.

        ansible-core 2.19 templates only text that is marked as trusted, so text is left as it is.
        """
        return value

else:
    from ansible.utils.unsafe_proxy import wrap_var

    def unsafe(value: Any) -> Any:
        """The value, with all text in it, keys included, marked as no template; here every text is one unless marked."""
        return wrap_var(value)
