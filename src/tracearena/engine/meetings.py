"""Tasks that work side by side in different workers and hand each other parts of their results.

A scheduler that hears of every step costs more than a short step itself. Here it starts one task in each
worker, and the tasks then write to each other, through the workers' own connections (TLS where the
cluster has it). They come to the same end only together: if one of them is lost, the others stop with
`LostError`, and whoever called the meeting calls it again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache
from threading import Condition
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from uuid import uuid4

from tracearena.engine.parcels import Parcel
from tracearena.errors import ClusterError

if TYPE_CHECKING:
    from tracearena.engine.cluster import Cluster

T = TypeVar("T")
LOOK_AFTER_S = 1.0
"""Who waits longer for a letter looks whether those who owe it are alive."""
PATIENCE_S = 60.0
"""So long a worker may take to say that it is alive."""
LETTER, END = "tracearena_letter", "tracearena_meeting_ends"


class LostError(ClusterError):
    """A worker has gone in the middle of a meeting, or the meeting was ended by others."""


class Meeting(NamedTuple):
    """A name like no other, and the addresses of the workers that take part."""

    name: str
    addresses: tuple[str, ...]

    @classmethod
    def of(cls, addresses: Sequence[str]) -> Meeting:
        """Call a meeting of workers."""
        return cls(uuid4().hex, tuple(addresses))


class _Letters:
    """What has arrived in this process and is not yet read."""

    def __init__(self) -> None:
        self._arrived = Condition()
        self._unread: dict[tuple[str, int, int, int], Any] = {}
        self._over: deque[str] = deque(maxlen=1_000)

    def put(self, name: str, to: int, turn: int, sender: int, parcel: Parcel) -> str:
        with self._arrived:
            if name not in self._over:
                self._unread[name, to, turn, sender] = parcel.value
                self._arrived.notify_all()
        return "OK"

    def end(self, name: str) -> str:
        with self._arrived:
            self._over.append(name)
            for key in [key for key in self._unread if key[0] == name]:
                del self._unread[key]
            self._arrived.notify_all()
        return "OK"

    def take(self, name: str, to: int, turn: int, sender: int, patience_s: float) -> tuple[bool, Any]:
        """Return whether the letter has come, and what it says."""
        key = name, to, turn, sender
        with self._arrived:
            self._arrived.wait_for(lambda: key in self._unread or name in self._over, patience_s)
            if name in self._over:
                raise LostError("the meeting was ended")
            return key in self._unread, self._unread.pop(key, None)


_letters = _Letters()


class Seat:
    """The place of one task in a meeting.

    Attributes
    ----------
    number, count
        Which of how many.
    """

    def __init__(self, meeting: Meeting, number: int, worker: Any) -> None:
        self.meeting = meeting
        self.number = number
        self.count = len(meeting.addresses)
        self._worker = worker
        self._turn = 0
        self._sent: list[Future[Any]] = []

    def exchange(self, parts: Sequence[Any]) -> list[Any]:
        """Give ``parts[i]`` to seat i, and return what each seat gave to this one, in their order.

        Whether one's own letters have arrived is asked with the next ones (`settle`): until then they must
        not be changed.
        """
        self.settle()
        turn, self._turn = self._turn, self._turn + 1
        others = [seat for seat in range(self.count) if seat != self.number]
        self._sent = [self._begun(self._send(seat, turn, parts[seat])) for seat in others]
        got = {seat: self._awaited(seat, turn) for seat in others}
        return [parts[seat] if seat == self.number else got[seat] for seat in range(self.count)]

    def settle(self) -> None:
        """Wait until all that was sent has arrived."""
        sent, self._sent = self._sent, []
        for one in sent:
            _outcome(one)

    def _awaited(self, sender: int, turn: int) -> Any:
        while True:
            has_come, value = _letters.take(self.meeting.name, self.number, turn, sender, LOOK_AFTER_S)
            if has_come:
                return value
            _outcome(self._begun(self._peer(sender).identity()))

    async def _send(self, seat: int, turn: int, value: Any) -> None:
        from distributed.protocol import to_serialize

        said = {"name": self.meeting.name, "to": seat, "turn": turn, "sender": self.number}
        await getattr(self._peer(seat), LETTER)(**said, parcel=to_serialize(Parcel(value)))

    def end(self) -> None:
        """Tell all others that this meeting has no end to wait for."""
        for seat in range(self.count):
            if seat != self.number:
                with suppress(LostError):
                    _outcome(self._begun(getattr(self._peer(seat), END)(name=self.meeting.name)))

    def _peer(self, seat: int) -> Any:
        return self._worker.rpc(self.meeting.addresses[seat])

    def _begun(self, what: Coroutine[Any, Any, Any]) -> Future[Any]:
        waited = asyncio.wait_for(what, PATIENCE_S)
        return asyncio.run_coroutine_threadsafe(waited, self._worker.loop.asyncio_loop)


def _outcome(future: Future[Any]) -> None:
    try:
        future.result()
    except (OSError, TimeoutError) as error:
        raise LostError(f"a worker has gone: {error}") from None


@contextmanager
def seated(meeting: Meeting, number: int) -> Iterator[Seat]:
    """Take part in a meeting from inside a task; an error here ends it for all."""
    from distributed import get_worker, secede

    worker = get_worker()
    if worker.address != meeting.addresses[number]:
        raise LostError("the task came to another worker than it was meant for")
    # Whoever waits for others must not keep a task waiting that those others wait for.
    secede()
    seat = Seat(meeting, number, worker)
    try:
        yield seat
        seat.settle()
    except BaseException:
        _letters.end(meeting.name)
        seat.end()
        raise


def meet(cluster: Cluster, work: Callable[..., T], seats: Mapping[str, Sequence[Any]]) -> T:
    """Have ``work(seat, *arguments)`` done side by side, once in each worker; return what the first gives.

    Parameters
    ----------
    seats
        Addresses of workers, with the arguments of each.

    Raises
    ------
    LostError
        If a worker is lost before the end; nothing of the meeting goes on.
    """
    cluster.equip("tracearena-post-office", _post_office())
    meeting = Meeting.of(list(seats))
    futures = [
        cluster.submit(_attend, work, meeting, number, *arguments, worker=address, strictly=True)
        for number, (address, arguments) in enumerate(seats.items())
    ]
    try:
        _await(cluster, meeting, futures)
        [result] = cluster.gather(futures[:1])
    except BaseException:
        cluster.forget(futures)
        cluster.tell(_letters_end, meeting.name)
        raise
    return cast(T, result)


def _await(cluster: Cluster, meeting: Meeting, futures: list[Any]) -> None:
    waiting = futures
    while waiting:
        ended = cluster.ended(waiting, LOOK_AFTER_S)
        failed = [future for future in ended if future.status == "error"]
        if failed:
            # Those who only heard that it is over say less than the one who ended it.
            reasons = [*failed, *cluster.ended([one for one in waiting if one not in ended], LOOK_AFTER_S)]
            errors = [future.exception() for future in reasons if future.status == "error"]
            raise next((error for error in errors if not isinstance(error, LostError)), errors[0])
        if not ended and not set(meeting.addresses) <= set(cluster.workers):
            raise LostError("a worker has gone")
        waiting = [future for future in waiting if future not in ended]


def _attend(work: Callable[..., T], meeting: Meeting, number: int, *arguments: Any) -> T:
    with seated(meeting, number) as seat:
        return work(seat, *arguments)


def _letters_end(name: str) -> None:
    _letters.end(name)


@cache
def _post_office() -> Any:
    """Return a plug-in by which workers receive letters."""
    from distributed import WorkerPlugin

    class PostOffice(WorkerPlugin):  # type: ignore[misc]
        def setup(self, worker: Any) -> None:
            # The class travels by value: the letters are those of the worker's own module.

            worker.handlers[LETTER] = _letters.put
            worker.handlers[END] = _letters.end

    return PostOffice()
