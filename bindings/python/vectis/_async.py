"""Calls of the library as coroutines."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Any

from ._vectis import CancelSource


async def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a method in a thread of the event loop's executor; cancelling the task cancels the call, and waits for it."""
    source = CancelSource()
    loop = asyncio.get_running_loop()
    future = loop.run_in_executor(None, functools.partial(function, *args, cancel=source, **kwargs))
    # Retrieved even if nobody waits any more, so that asyncio does not report it.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        source.cancel()
        await asyncio.wait([future])
        raise
