"""Tasks whose first step runs at once: most handlers end in it, and then no task is needed.

From Python 3.12 on asyncio has this itself. Before, a spare task stands in as the current task
during the first step; it becomes the handler's own only if the handler has to wait.
"""

from __future__ import annotations

import asyncio
import contextvars
import sys
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

Spawn = Callable[[Coroutine[Any, Any, Any]], "asyncio.Task[Any] | None"]


def spawner(loop: asyncio.AbstractEventLoop) -> Spawn:
    """A function that starts a coroutine; it gives the task, or None when nothing is left to do.

    The coroutine must not raise.
    """
    if sys.version_info >= (3, 12):

        def spawn(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any] | None:
            task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, eager_start=True)
            return None if task.done() else task

        return spawn
    return _Stepper(loop).spawn


class _Stepper:
    """For 3.10 and 3.11, whose private names used here do not change any more."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._spare = self._make()

    def _make(self) -> Any:
        # The task of pure Python: it takes its first step when told to.
        task: Any = asyncio.tasks._PyTask.__new__(asyncio.tasks._PyTask)  # type: ignore[attr-defined]
        asyncio.futures._PyFuture.__init__(task, loop=self._loop)  # type: ignore[attr-defined]
        task._name = "mcp_keel"
        task._must_cancel = False
        task._fut_waiter = None
        task._num_cancels_requested = 0
        task._log_destroy_pending = False
        return task

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any] | None:
        loop = self._loop
        if asyncio.current_task(loop) is not None:
            return loop.create_task(work)
        spare = self._spare
        context = contextvars.copy_context()
        spare._coro, spare._context = work, context
        asyncio.tasks._enter_task(loop, spare)
        try:
            first = context.run(work.send, None)
        except StopIteration:
            spare._coro = spare._context = None
            # Four hold it: this object, this frame, asyncio and the question. Somebody else kept it, or
            # cancelled it: then it is over, and the next call gets another.
            if sys.getrefcount(spare) > 4 or spare._must_cancel:
                asyncio.futures._PyFuture.set_result(spare, None)  # type: ignore[attr-defined]
                self._spare = self._make()
            return None
        finally:
            asyncio.tasks._leave_task(loop, spare)
        self._spare = self._make()
        spare._coro = _rest(first, work)
        asyncio.tasks._register_task(spare)
        context.run(spare._Task__step)
        return spare  # type: ignore[no-any-return]


@types.coroutine
def _rest(first: Any, work: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """What is left of a coroutine that gave `first` to wait for."""
    while True:
        step: Callable[[Any], Any] = work.send
        given: Any = None
        try:
            given = yield first
        except BaseException as error:
            step, given = work.throw, error
        try:
            first = step(given)
        except StopIteration as end:
            return end.value
