"""An HTTP/3 server at 10.0.0.2 and a client that asks it twice over one connection, with aioquic."""

import asyncio
import ssl
import sys
import time

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ProtocolNegotiated, QuicEvent


class Server(QuicConnectionProtocol):
    """Answers each request with 1,000 bytes."""

    def quic_event_received(self, event: QuicEvent) -> None:
        """Called by aioquic."""
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        for one in self.http.handle_event(event) if hasattr(self, "http") else ():
            if isinstance(one, HeadersReceived):
                self.http.send_headers(one.stream_id, [(b":status", b"200")])
                self.http.send_data(one.stream_id, bytes(1000), end_stream=True)
                self.transmit()


class Client(QuicConnectionProtocol):
    """Waits for the end of one answer at a time."""

    http: H3Connection
    ended: "asyncio.Future[None]"

    def quic_event_received(self, event: QuicEvent) -> None:
        """Called by aioquic."""
        if isinstance(event, ProtocolNegotiated):
            self.http = H3Connection(self._quic)
        for one in self.http.handle_event(event) if hasattr(self, "http") else ():
            if isinstance(one, DataReceived | HeadersReceived) and one.stream_ended:
                self.ended.set_result(None)

    async def get(self) -> None:
        """Ask, and wait for the whole answer."""
        self.ended = asyncio.get_running_loop().create_future()
        stream = self._quic.get_next_available_stream_id()
        fields = [(b":method", b"GET"), (b":scheme", b"https"), (b":authority", b"b"), (b":path", b"/")]
        self.http.send_headers(stream, fields, end_stream=True)
        self.transmit()
        await self.ended


async def main() -> None:
    """Either end."""
    if sys.argv[1] == "server":
        configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=False)
        configuration.load_cert_chain("/tmp/cert.pem", "/tmp/key.pem")
        await serve("10.0.0.2", 4433, configuration=configuration, create_protocol=Server)
        await asyncio.Event().wait()
    configuration = QuicConfiguration(alpn_protocols=H3_ALPN, is_client=True, verify_mode=ssl.CERT_NONE)
    begin = time.monotonic()
    async with connect("10.0.0.2", 4433, configuration=configuration, create_protocol=Client) as client:
        await client.get()
        print(f"first_request_ms = {(time.monotonic() - begin) * 1000:.3f}")
        begin = time.monotonic()
        await client.get()
        print(f"second_request_ms = {(time.monotonic() - begin) * 1000:.3f}", flush=True)


asyncio.run(main())
