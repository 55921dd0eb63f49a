"""Runs coroutines in tests."""

import asyncio
from concurrent.futures import ThreadPoolExecutor


def in_a_loop(coroutine):
    """What a coroutine returns. In a thread of its own, for the browser's loop may be running in this one."""

    def alone():
        with asyncio.Runner() as runner:
            return runner.run(coroutine)

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(alone).result()
