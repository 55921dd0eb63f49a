"""A packet of pages, and a collector that serves it on a port of this machine."""

import contextlib
import threading
import time
from dataclasses import dataclass, field

import pytest

from .page_examples import study_page


@dataclass
class Running:
    """A collector that answers at `base`."""

    base: str
    collector: object
    finished: list = field(default_factory=list)

    def link(self, number=0):
        return f"{self.base}/r/{self.collector.packet.invitations[number].token}/"

    @property
    def open(self):
        return f"{self.base}/join/{self.collector.packet.open}/"

    @property
    def admin(self):
        return f"{self.base}/admin/{self.collector.packet.admin}/"


@pytest.fixture
def packet_folder(tmp_path):
    """A folder with pages for r1, r2 and r3."""
    folder = tmp_path / "packet"
    for rater in ("r1", "r2", "r3"):
        study_page(rater).save(folder / f"{rater}.html")
    return folder


@pytest.fixture
def run_collector():
    """Starts a collector in a thread for the length of a ``with`` block, and tells where it answers."""
    pytest.importorskip("starlette", reason="pip install 'howsure[serve]'")
    pytest.importorskip("uvicorn", reason="pip install 'howsure[serve]'")
    from howsure.people.collector import Collector, listen, server
    from howsure.people.packet import open_packet
    from howsure.people.store import ANSWERS, Store

    @contextlib.contextmanager
    def run(folder, *, n_raters=None, port=0, is_open=False, is_proxied=False, **options):
        store = Store(folder / ANSWERS)
        finished = []
        packet = open_packet(folder, n_raters, is_open=is_open)
        collector = Collector(packet, store, on_final=finished.append, **options)
        bound = listen("127.0.0.1", port)
        running = server(collector, is_proxied=is_proxied)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [bound]})
        address = f"http://127.0.0.1:{bound.getsockname()[1]}"
        thread.start()
        try:
            while not running.started:
                time.sleep(0.01)
            yield Running(address, collector, finished)
        finally:
            running.should_exit = running.force_exit = True
            thread.join()
            store.close()

    return run
