"""Addresses of links, given by the user or by default; one IPv4 and one IPv6 subnet for each link."""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from netwarp.scenario.model import Link

Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@lru_cache(maxsize=4096)
def parse_address(text: str) -> Interface:
    """Parse an address with its prefix length, such as `"192.168.1.1/24"`. Raises ValueError with a sentence."""
    if "/" not in text:
        raise ValueError(f'"{text}" has no prefix length; write it as "{text}/24"')
    try:
        address = ipaddress.ip_interface(text)
    except ValueError:
        raise ValueError(f'"{text}" is not an address; expected one such as "192.168.1.1/24" or "fd00::1/64"') from None
    if address.ip.is_multicast or address.ip.is_loopback or address.ip.is_unspecified:
        raise ValueError(f'"{text}" cannot be the address of an interface')
    reserved = (address.network.network_address, address.network.broadcast_address)
    if address.version == 4 and address.network.prefixlen < 31 and address.ip in reserved:
        raise ValueError(f'"{text}" is the first or last address of its subnet; choose one between them')
    return address


@lru_cache(maxsize=4096)
def default_addresses(index: int, version: int) -> tuple[Interface, Interface]:
    """The default subnet of the link with this index in file order: 10.0.k.0/24 or fd6e:7700:0:k::/64."""
    if version == 4:
        base = f"10.{index >> 8}.{index & 255}"
        return ipaddress.ip_interface(f"{base}.1/24"), ipaddress.ip_interface(f"{base}.2/24")
    base = f"fd6e:7700:0:{index:x}"
    return ipaddress.ip_interface(f"{base}::1/64"), ipaddress.ip_interface(f"{base}::2/64")


def link_addresses(link: Link, index: int) -> dict[int, tuple[Interface, Interface]]:
    """The addresses of the two ends by IP version (4, then 6). Raises ValueError if the user's do not fit."""
    own: list[dict[int, Interface]] = [{}, {}]
    for end, texts in enumerate(link.addresses or ()):
        for text in texts:
            address = parse_address(text)
            if address.version in own[end]:
                raise ValueError(f"an end has two IPv{address.version} addresses; give one of each version at most")
            own[end][address.version] = address
    found: dict[int, tuple[Interface, Interface]] = {}
    for version in (4, 6):
        if (version in own[0]) != (version in own[1]):
            raise ValueError(f"only one end has an IPv{version} address; give both ends one")
        pair = (own[0][version], own[1][version]) if version in own[0] else default_addresses(index, version)
        if pair[0].network != pair[1].network:
            raise ValueError(f"{pair[0]} and {pair[1]} are in different subnets; the ends of a link share one")
        if pair[0].ip == pair[1].ip:
            raise ValueError(f"both ends have the address {pair[0]}")
        found[version] = pair
    return found
