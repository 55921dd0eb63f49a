"""Asks the collector without a network between."""

import json

import httpx

from servers.event_loops import in_a_loop


class Asker:
    """Asks an application without a network between."""

    def __init__(self, collector):
        self.collector = collector
        self.packet = collector.packet

    def __call__(self, method, path, body=None, **options):
        return in_a_loop(self.ask(method, path, body, **options))

    async def ask(self, method, path, body=None, **options):
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        headers = {"content-type": "application/json"} | options.pop("headers", {})
        transport = httpx.ASGITransport(self.collector.app, raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.request(method, path, content=body, headers=headers, **options)

    def raw(self, method, path, body, headers):
        """The status that any path and any header get, also those that a decent client would not send."""
        statuses = []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            statuses.append(message.get("status"))

        scope = {"type": "http", "method": method, "path": path, "raw_path": b"", "query_string": b"", "scheme": "http"}
        told = [(name.encode(), value.encode(errors="surrogatepass")) for name, value in headers.items()]
        in_a_loop(self.collector.app(scope | {"headers": told, "client": None, "server": None}, receive, send))
        return statuses[0]

    def link(self, number=0, end=""):
        return f"/r/{self.packet.invitations[number].token}/{end}"
