"""The audit log when several write at once: one chain, without a gap."""

from __future__ import annotations

import threading

from django.db import connections
from tests.server.conftest import Held

from tracearena.server.audit_log import first_broken, log
from tracearena.server.models import AuditEntry


def test_many_writers_make_one_chain(held: Held) -> None:
    """Each entry follows from the one before, whoever wrote that."""
    before, errors = AuditEntry.objects.count(), []

    def write(name: str) -> None:
        try:
            for number in range(15):
                log(name, "act", number=number)
        except Exception as error:
            errors.append(error)
        finally:
            connections.close_all()

    writers = [threading.Thread(target=write, args=(f"writer {number}",)) for number in range(4)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert not errors
    assert AuditEntry.objects.count() == before + 60
    assert first_broken() is None
