# mypy: disable-error-code="import-not-found, misc"
# pykka is in an environment of its own, so to mypy all of it is Any.
"""pykka: an actor is a thread with an unbounded queue."""

from __future__ import annotations

import threading

import pykka

from bench._meter import Meter, resident_bytes


class Counter(pykka.ThreadingActor):
    def __init__(self, expected: int, done: threading.Event) -> None:
        super().__init__()
        self.expected = expected
        self.done = done

    def on_receive(self, message: int) -> None:  # noqa: ARG002
        self.expected -= 1
        if not self.expected:
            self.done.set()


class Echo(pykka.ThreadingActor):
    def on_receive(self, message: int) -> int:
        return message


def tell(meter: Meter, messages: int) -> None:
    for _ in meter.laps(5, units=messages):
        done = threading.Event()
        ref = Counter.start(messages, done)
        for number in range(messages):
            ref.tell(number)
        done.wait()
        ref.stop()


def ask(meter: Meter, times: int) -> None:
    ref = Echo.start()
    for _ in meter.laps(5, units=times):
        for number in range(times):
            assert ref.ask(number) == number
    ref.stop()


def start_and_stop(meter: Meter, count: int) -> None:
    for _ in meter.laps(3, units=count):
        refs = [Echo.start() for _ in range(count)]
        for ref in refs:
            ref.stop(block=False)
        pykka.ActorRegistry.stop_all()


def memory(meter: Meter, count: int) -> None:
    before = resident_bytes()
    refs = [Echo.start() for _ in range(count)]
    for ref in refs:  # all threads are there when all have answered
        ref.ask(1)
    meter.record((resident_bytes() - before) / count)
    pykka.ActorRegistry.stop_all()
