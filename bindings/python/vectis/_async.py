"""Calls of the library as coroutines."""

from __future__ import annotations

import asyncio
import contextvars
import functools
from collections.abc import Callable
from typing import Any

from ._vectis import CancelSource


async def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a method in a thread of the event loop's executor; cancelling the task cancels the call, and waits for it.

    A cancelled task ends cancelled, as asyncio expects, also when the call could not be cancelled any more because it had
    finished: its change stands then.
    """
    source = CancelSource()
    context = contextvars.copy_context()  # the thread has the context variables of the task
    work = functools.partial(context.run, functools.partial(function, *args, cancel=source, **kwargs))
    future = asyncio.get_running_loop().run_in_executor(None, work)
    # Retrieved even if nobody waits any more, so that asyncio does not report it.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    cancellation = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            source.cancel()
            cancellation = cancellation or error
    if cancellation is not None:
        raise cancellation
    return future.result()
