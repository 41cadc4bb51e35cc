"""A bulk transfer over QUIC with aioquic, whose server sends what the client asks for; both ends log themselves."""

import asyncio
import ssl
import struct
import sys

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import QuicEvent, StreamDataReceived
from aioquic.quic.logger import QuicFileLogger

PROTOCOLS = ["bulk"]
ASKED_BYTES = 8


class Server(QuicConnectionProtocol):
    """Sends as many bytes as a stream asks for."""

    def quic_event_received(self, event: QuicEvent) -> None:
        """Called by aioquic."""
        if isinstance(event, StreamDataReceived) and len(event.data) == ASKED_BYTES:
            (size,) = struct.unpack("!Q", event.data)
            self._quic.send_stream_data(event.stream_id, bytes(size), end_stream=True)
            self.transmit()


async def main(role: str, address: str, place: str, count: int) -> None:
    """Serve with the certificate at `place`, or ask for `count` bytes."""
    log = QuicFileLogger(".")
    if role == "server":
        configuration = QuicConfiguration(alpn_protocols=PROTOCOLS, is_client=False, quic_logger=log)
        configuration.load_cert_chain(f"{place}/cert.pem", f"{place}/key.pem")
        await serve(address, 4433, configuration=configuration, create_protocol=Server)
        await asyncio.Event().wait()
    insecure = ssl.CERT_NONE
    configuration = QuicConfiguration(alpn_protocols=PROTOCOLS, is_client=True, verify_mode=insecure, quic_logger=log)
    async with connect(address, 4433, configuration=configuration) as client:
        reader, writer = await client.create_stream()
        writer.write(struct.pack("!Q", count))
        await writer.drain()
        print(len(await reader.read()))


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
