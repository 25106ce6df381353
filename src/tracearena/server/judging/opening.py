"""The promise is kept: when the results open, ID tables and salts are shown to everybody."""

from __future__ import annotations

from tracearena.contest import id_table_text
from tracearena.contest.commitments import live_text
from tracearena.contest.data import SALTS, live_file
from tracearena.files import csv_text, replacing
from tracearena.server.judging.truths import Bench, file_name
from tracearena.server.models import DataSet
from tracearena.server.store import jobs
from tracearena.server.store.audit_log import log


def open_tables(taken: jobs.Taken, bench: Bench) -> None:
    """Put every ID table, the users of the live board and the salts where everybody finds them."""
    everybody, salts = bench.folder.everybody, []
    for data_set in DataSet.objects.filter(released_at__isnull=False).select_related("team"):
        secret, name = bench.secret(data_set), file_name("ptable", data_set)
        with replacing(everybody / name) as file:
            file.write(id_table_text(secret.table).encode())
        if secret.live is not None:
            with replacing(everybody / live_file(int(data_set.team.number), data_set.number)) as file:
                file.write(live_text(secret.live).encode())
        salts.append([name, secret.commitment.salt])
    with replacing(everybody / SALTS) as file:
        file.write(csv_text(["file", "salt"], sorted(salts)).encode())
    with jobs.finishing(taken):
        log("judge", "ID tables opened", tables=len(salts))
