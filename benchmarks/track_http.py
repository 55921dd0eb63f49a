"""A turn of Track the Stat over loopback HTTP: CPU milliseconds of the client, beside bare loops that keep no log.

Games of 300 turns against a server in another process that always answers correctly, so that a conversation has 600 messages at its end.
``httpx`` and ``openai`` are the shortest loops that one can write with these clients; they log nothing and cannot be resumed. ``inspect`` is our run with Inspect's
own provider (``openai-api/…``), ``howsure`` the same with ours: with full logs, the realtime log and the store of replies. Each runs in a process of its own.
Growth: cost of turns 151–300 over cost of turns 1–150; a cost that does not depend on the turn has 1, one that is proportional to it has 3.
``howsure, part of it in …`` says where the time of our run goes, by looking every millisecond of CPU which part of the program works.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from howsure.track.game.prompts import bracketed, instructions
from howsure.track.game.sequence import Setting
from howsure.track.game.statistics import statistic

# parts of a turn, by the innermost function that belongs to one
_PARTS = {
    "requests (httpx)": r"/httpx/",
    "our provider and replies": r"/running/(http_provider|replies)\.py",
    "Inspect's realtime log": r"/_recorders/buffer/",
    "copies of messages for Inspect's log": r"_model\.py:_snapshot_message",
    "Inspect's other work for an event": r"_model\.py:(_record_model_interaction|complete)",
    "the rest of Inspect's model layer": r"/inspect_ai/model/_model\.py",
    "the log of finished games": r"/task/run\.py:log_sample",
}
N_GAMES = int(os.environ.get("HOWSURE_GAMES", "2"))
TURNS = 300


def measure() -> dict[str, float]:
    """Milliseconds of CPU per turn of every way, and how they grow."""
    figures: dict[str, float] = {}
    with _server() as address:
        for way in _WAYS:
            whole, half = (_in_a_process(way, address, turns) for turns in (TURNS, TURNS // 2))
            figures[f"{way}: CPU ms per turn"] = whole / TURNS
            figures[f"{way}: growth"] = (whole - half) / half
            print(f"  {way}: {whole / TURNS:.2f} ms", file=sys.stderr, flush=True)
        shares = json.loads(_printed("where", address, TURNS))
    figures |= {f"howsure, part of it in {part}": share for part, share in shares.items()}
    for way in ("inspect", "howsure"):
        for bare in ("httpx", "openai"):
            figures[f"{way} / bare {bare}"] = figures[f"{way}: CPU ms per turn"] / figures[f"{bare}: CPU ms per turn"]
    return figures


def _games(turns: int) -> Iterator[tuple[list[dict[str, str]], list[int]]]:
    """The opening and the numbers of each game."""
    setting = Setting(length=turns)
    for seed in range(N_GAMES):
        yield (
            [{"role": "system", "content": instructions("median", setting)}],
            [int(str(one)) for one in setting.steps("median", seed)],
        )


def _httpx(address: str, turns: int) -> None:
    import httpx

    async def play() -> None:
        async with httpx.AsyncClient() as client:
            for messages, numbers in _games(turns):
                for number in numbers:
                    messages.append({"role": "user", "content": str(number)})
                    reply = await client.post(
                        f"{address}/chat/completions", json={"model": "m", "messages": messages}, timeout=60
                    )
                    messages.append({"role": "assistant", "content": reply.json()["choices"][0]["message"]["content"]})

    asyncio.run(play())


def _openai(address: str, turns: int) -> None:
    from openai import AsyncOpenAI

    async def play() -> None:
        async with AsyncOpenAI(base_url=address, api_key="none") as client:
            for told, numbers in _games(turns):
                messages: list[Any] = list(told)
                for number in numbers:
                    messages.append({"role": "user", "content": str(number)})
                    reply = await client.chat.completions.create(model="m", messages=messages)
                    messages.append({"role": "assistant", "content": reply.choices[0].message.content})

    asyncio.run(play())


def _run_with(model: str) -> Callable[[str, int], None]:
    def play(address: str, turns: int) -> None:
        from howsure.track.running.playing import run_model

        with tempfile.TemporaryDirectory() as folder:
            done = run_model(
                model, out=folder, n_samples=N_GAMES, base_url=address, max_samples=1, setting=Setting(length=turns)
            )
            assert done.status == "complete", done.errors
            assert done.samples.frame["max_length"].to_list() == [turns] * N_GAMES

    return play


_WAYS: dict[str, Callable[[str, int], None]] = {
    "httpx": _httpx,
    "openai": _openai,
    "inspect": _run_with("openai-api/local/m"),
    "howsure": _run_with("openai-http/local/m"),
}


def _in_a_process(way: str, address: str, turns: int) -> float:
    """CPU milliseconds per game."""
    return float(_printed(way, address, turns))


def _printed(way: str, address: str, turns: int) -> str:
    line = [sys.executable, "-m", __name__, way, address, str(turns)]
    done = subprocess.run(
        line, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "LOCAL_API_KEY": "none"}
    )
    return done.stdout.splitlines()[-1]


@contextmanager
def _server() -> Iterator[str]:
    with subprocess.Popen(
        [sys.executable, "-m", __name__, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.stdin.close()


async def _serve() -> None:
    """Prints its address, and answers until its input is closed."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
                body = _reply(json.loads(await reader.readexactly(int(length[1]) if length else 0)))
                start = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
                writer.write(start + body)
                await writer.drain()
        except asyncio.IncompleteReadError:
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, limit=2**24)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    os._exit(0)


def _reply(request: dict[str, Any]) -> bytes:
    tracked = statistic("median")()
    for message in request["messages"]:
        if message["role"] == "user":
            tracked.update(int(message["content"]))
    message = {"role": "assistant", "content": bracketed(tracked, tracked.answer())}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    told = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": choices, "usage": usage}
    return json.dumps(told).encode()


def _where(address: str, turns: int) -> dict[str, float]:
    """Which share of the CPU time each of `_PARTS` takes."""
    seen: Counter[str] = Counter()

    def look(_: int, frame: FrameType | None) -> None:
        while frame is not None:
            place = f"{frame.f_code.co_filename}:{frame.f_code.co_name}"
            if part := next((part for part, pattern in _PARTS.items() if re.search(pattern, place)), None):
                seen[part] += 1
                return
            frame = frame.f_back
        seen["the game, start and end of a run"] += 1

    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
    _WAYS["howsure"](address, turns)
    signal.setitimer(signal.ITIMER_PROF, 0)
    return {part: n / seen.total() for part, n in seen.most_common()}


def _main(way: str, address: str = "", turns: str = "") -> None:
    if way == "serve":
        asyncio.run(_serve())
        return
    if way == "where":
        _WAYS["howsure"](address, 20)  # the first game is slower
        print(json.dumps(_where(address, int(turns))))
        return
    global N_GAMES  # noqa: PLW0603 - the first game is not timed
    play, n_games = _WAYS[way], N_GAMES
    N_GAMES = 1
    play(address, 20)
    N_GAMES = n_games
    start = time.process_time()
    play(address, int(turns))
    print(1000 * (time.process_time() - start) / n_games)


if __name__ == "__main__":
    _main(*sys.argv[1:])
