"""A team's key goes under a new link: only the judge can open the copy that it keeps of it."""

from __future__ import annotations

from tracearena.server import clock
from tracearena.server.judging.truths import Bench
from tracearena.server.models import Job, Link
from tracearena.server.people.links import PURPOSE
from tracearena.server.store import jobs
from tracearena.server.store.keys import secret_key, wrap
from tracearena.server.store.sealing import unseal


def rewrap(taken: jobs.Taken, bench: Bench) -> None:
    """Wrap a team's private key by the secret of a link, which comes sealed to the judge.

    The job speaks of the link by its number and holds its secret as hexadecimal digits, sealed; the
    secret is taken out of the job when it is done.
    """
    link = Link.objects.select_related("team").get(pk=taken.about["link"])
    if link.team is None or link.team.escrow is None or link.expires_at <= clock.now():
        with jobs.finishing(taken):
            return
    secret = unseal(bench.private_key, bytes.fromhex(taken.about["sealed"])).decode()
    private = unseal(bench.private_key, bytes(link.team.escrow))
    with jobs.finishing(taken):
        Link.objects.filter(pk=link.pk).update(wrapped_key=wrap(private, secret_key(secret), PURPOSE))
        Job.objects.filter(pk=taken.pk).update(about={"link": link.pk})
