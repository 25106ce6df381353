"""Accounts that a demonstration gives away: drawn for it, and worth nothing when it ends."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Account:
    """An account that is given away: whose it is, how one logs in, where one begins.

    Attributes
    ----------
    files
        Where files to hand in lie; None for an organiser.
    """

    role: str
    name: str
    password: str = field(repr=False)
    page: str
    files: Path | None = None


def new_account(role: str, page: str, files: Path | None = None) -> Account:
    """Draw an account: neither its name nor its password is known before."""
    name = f"{role.replace(' ', '-')}-{secrets.token_hex(2)}"
    return Account(role, name, secrets.token_urlsafe(12), page, files)
