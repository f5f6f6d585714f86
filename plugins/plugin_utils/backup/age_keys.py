# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an archive is encrypted with: key pairs of age (https://age-encryption.org/v1), by the library pyrage.

Not with passphrases: age derives their cost from the speed of the machine at that moment, the library has no setting for it, and
refuses to open what would cost much more than its own machine would choose ("Excessive work parameter"). An archive of a fast
machine could not be opened on a busy one, with the right passphrase.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from ..base.errors import ClusterError

try:
    pyrage: Any = importlib.import_module("pyrage")
except ImportError as error:  # reported when it is needed: listing and documenting the plugins must work without it
    MISSING: ImportError | None = error
else:
    MISSING = None


def require() -> None:
    """Raise an error with what to install when the library is missing.

    Raises:
        ClusterError: as all errors that a user can resolve.
    """
    if MISSING is not None:
        raise ClusterError(
            "the Python package pyrage is needed on the control node for backups and is not installed: install pyrage>=1.4"
        ) from MISSING


def recipients_of(texts: Sequence[str]) -> list[Any]:
    """To whom an archive is encrypted, as objects of the library.

    Args:
        texts: public keys (C(age1…)).

    Raises:
        ClusterError: there is none, or one is not a public key.
    """
    require()
    if not texts:
        raise ClusterError("a backup is encrypted to recipients: set one public key of age at least (age1…)")
    try:
        return [pyrage.x25519.Recipient.from_str(text.strip()) for text in texts]
    except pyrage.RecipientError as error:
        # Without the text: it is a private key when people mix them up.
        raise ClusterError(
            "a recipient of the backup is not a public key of age (age1…). Create one with age-keygen (package age)"
        ) from error


def identity_of(text: str) -> Any:
    """The private key that opens an archive, as an object of the library.

    Args:
        text: a private key (C(AGE-SECRET-KEY-…)), or a file of age-keygen, which has comments before it.

    Raises:
        ClusterError: it is not one.
    """
    require()
    try:
        return pyrage.x25519.Identity.from_str("".join(line.strip() for line in text.splitlines() if not line.strip().startswith("#")))
    except pyrage.IdentityError as error:
        # Without the text, see above.
        raise ClusterError(
            "flower_backup_identity is not a private key of age (AGE-SECRET-KEY-…). Set the content of the file of age-keygen, not its path: "
            "\"{{ lookup('ansible.builtin.file', PATH) }}\""
        ) from error


def require_recipient(identity: Any, recipients: Sequence[Any]) -> None:
    """Refuse a private key that would not open the archive, before hours are spent on it.

    Raises:
        ClusterError: its public key is not among them.
    """
    public = str(identity.to_public())
    if public not in map(str, recipients):
        raise ClusterError(
            f"flower_backup_identity does not open what is encrypted for flower_backup_recipients: its public key {public} is not among them. Add that, or "
            "set the private key of one of them"
        )
