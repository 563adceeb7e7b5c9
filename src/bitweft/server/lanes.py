"""The threads that align: small requests have their own, and nothing is computed for who has gone."""

from __future__ import annotations

import asyncio
from threading import Event

import anyio
from anyio import CancelScope, CapacityLimiter, to_thread
from starlette.requests import Request

from bitweft.server.problems import Problem
from bitweft.server.service import Service, Task

SMALL = 1 << 16  # word pairs of a request that never waits behind bigger ones


class Lanes:
    """Hand requests to threads: some for reading and for small requests, one less for big ones.

    So a core is left to small requests, however many big ones there are.
    """

    def __init__(self, service: Service, threads: int) -> None:
        self.service = service
        self._small, self._big = CapacityLimiter(threads), CapacityLimiter(max(1, threads - 1))
        self._waiting = 0  # requests
        self._cells = 0  # word pairs of the big ones among them

    async def answer(self, request: Request, body: bytes) -> bytes:
        """Align what the body of a request holds.

        Raises:
            Problem: the request cannot be answered, too much is waiting, or the client has gone.
        """
        if self._waiting >= self.service.limits.waiting:
            raise Problem(503, "too many requests are waiting; try again in a moment")
        self._waiting += 1
        gone = Event()
        try:
            # A thread that has begun is not left behind: it looks at the clock, and for the client, itself.
            with anyio.fail_after(self.service.limits.timeout), CancelScope() as scope:
                watcher = asyncio.create_task(_watch(request, gone, scope))
                try:
                    return await self._computed(body, gone)
                finally:
                    watcher.cancel()
            raise Problem(400, "the client did not wait for the answer")
        except TimeoutError:
            raise Problem(503, "the server is too busy; try again in a moment") from None
        finally:
            gone.set()  # also where the server itself is stopped
            self._waiting -= 1

    async def _computed(self, body: bytes, gone: Event) -> bytes:
        task = await to_thread.run_sync(self._begun, body, gone, limiter=self._small)
        if isinstance(task, bytes):
            return task
        if self._cells and self._cells + task.cells > self.service.limits.all_cells:
            raise Problem(503, "the server is busy with other big requests; try again in a moment")
        self._cells += task.cells
        try:
            return await to_thread.run_sync(self.service.compute, task, gone, limiter=self._big)
        finally:
            self._cells -= task.cells

    def _begun(self, body: bytes, gone: Event) -> bytes | Task:
        """Read a request and, if it is small, answer it in the same turn."""
        task = self.service.read(body)
        return self.service.compute(task, gone) if task.cells <= SMALL else task


async def _watch(request: Request, gone: Event, scope: CancelScope) -> None:
    """Wait until the client has gone, and give its request up."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    gone.set()
    scope.cancel()
