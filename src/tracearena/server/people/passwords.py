"""How passwords are hashed: Argon2id with 19 MiB."""

from __future__ import annotations

from django.contrib.auth.hashers import Argon2PasswordHasher

from tracearena.server.settings import MEMORY_KIB


class Argon2(Argon2PasswordHasher):
    """Argon2id as OWASP recommends it for servers: 19 MiB, two passes, one lane."""

    memory_cost = MEMORY_KIB
    time_cost = 2
    parallelism = 1
