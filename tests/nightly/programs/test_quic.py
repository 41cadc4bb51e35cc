"""A suite as an author of a QUIC stack writes it: aioquic with pytest-asyncio.

tests/nightly/test_pytest_suites.py copies it beside a scenario and runs it.
"""

import asyncio
import datetime
import socket
import ssl
import time

import pytest
from aioquic.asyncio.client import connect
from aioquic.asyncio.server import QuicServer
from aioquic.quic.configuration import QuicConfiguration
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

pytestmark = [pytest.mark.asyncio, pytest.mark.netwarp("net.toml")]


serving = []


def configured(is_client):
    configuration = QuicConfiguration(is_client=is_client, alpn_protocols=["echo"], verify_mode=ssl.CERT_NONE)
    if not is_client:
        key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
        begin = datetime.datetime(2025, 12, 1)
        end = begin + datetime.timedelta(days=365)
        certificate = x509.CertificateBuilder(name, name, key.public_key(), 1, begin, end)
        configuration.private_key = key
        configuration.certificate = certificate.sign(key, hashes.SHA256())
    return configuration


def echo(reader, writer):
    async def serve():
        writer.write(await reader.read())
        writer.write_eof()

    serving.append(asyncio.ensure_future(serve()))


async def exchange(network, size):
    """Seconds to the end of the handshake, and to the end of an echo of this many bytes."""
    sock = network["server"].socket(kind=socket.SOCK_DGRAM)
    sock.bind(("", 4433))
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: QuicServer(configuration=configured(False), stream_handler=echo), sock=sock
    )
    before = time.monotonic()
    configuration = configured(True)
    server = network["server"].address
    async with connect(server, 4433, configuration=configuration) as client:
        connected = time.monotonic() - before
        reader, writer = await client.create_stream()
        writer.write(bytes(size))
        writer.write_eof()
        assert len(await reader.read()) == size
        ended = time.monotonic() - before
    transport.close()
    print("took", connected, ended)
    return connected, ended


async def test_round_trips(network):
    connected, ended = await exchange(network, 1000)
    assert 0.040 <= connected < 0.045, "a handshake of one round trip"
    assert 0.080 <= ended < 0.090


@pytest.mark.netwarp("net.toml", settings={"links.wan.loss": "5%"}, seeds=3)
async def test_losses(network):
    _, ended = await exchange(network, 100_000)
    assert ended < 0.25, "which losses must not allow"


async def test_an_outage(network):
    async def fault():
        await asyncio.sleep(0.1)
        network.link("wan").down()
        await asyncio.sleep(2)
        network.link("wan").up()

    _, (_, ended) = await asyncio.gather(fault(), exchange(network, 1_000_000))
    assert 2 < ended < 10
