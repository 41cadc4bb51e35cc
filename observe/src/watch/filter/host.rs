//! `[FAMILY:]ADDRESS[/PREFIX][:PORT]` in ss's syntax; any part may be left out or be `*`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs};
use std::str::FromStr;

/// Addresses and ports of a condition; a name may have several addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Addresses with their prefix lengths; empty: any.
    pub networks: Vec<(IpAddr, u8)>,
    /// Whether only IPv4 or only IPv6 is meant (`inet:`, `inet6:`).
    pub ipv4: Option<bool>,
    pub port: Option<u16>,
}

impl Host {
    pub fn holds(&self, ip: IpAddr, port: u16) -> bool {
        self.port.is_none_or(|p| p == port)
            && self.ipv4.is_none_or(|v4| v4 == ip.is_ipv4())
            && (self.networks.is_empty()
                || self.networks.iter().any(|&(n, len)| within(ip, n, len)))
    }
}

fn within(ip: IpAddr, network: IpAddr, len: u8) -> bool {
    let differ = match (ip, network) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => return false,
    };
    differ >= u32::from(len)
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (ipv4, rest) = match text.split_once(':') {
            Some(("inet", rest)) => (Some(true), rest),
            Some(("inet6", rest)) => (Some(false), rest),
            _ => (None, text),
        };
        let (address, port_text) = cut(rest);
        let port = match port_text {
            None | Some("*") => None,
            Some(text) => Some(port(text)?),
        };
        let networks = match address {
            "" | "*" => Vec::new(),
            text => networks(text)?,
        };
        Ok(Self {
            networks,
            ipv4,
            port,
        })
    }
}

/// Splits `ADDRESS:PORT`; an IPv6 address with a port is in brackets, which are optional without one.
fn cut(text: &str) -> (&str, Option<&str>) {
    if let Some((inside, after)) = text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        return (inside, after.strip_prefix(':'));
    }
    match text.rsplit_once(':') {
        Some((address, _)) if address.contains(':') => (text, None),
        Some((address, port)) => (address, Some(port)),
        None => (text, None),
    }
}

fn networks(text: &str) -> Result<Vec<(IpAddr, u8)>, String> {
    let (name, prefix) = match text.split_once('/') {
        Some((name, prefix)) => (name, Some(prefix)),
        None => (text, None),
    };
    let addresses = match (name.parse::<IpAddr>(), short(name), prefix) {
        (Ok(ip), ..) => vec![ip],
        (_, Some(ip), Some(_)) => vec![ip],
        _ => resolve(name)?,
    };
    addresses
        .into_iter()
        .map(|ip| network(ip, prefix))
        .collect()
}

fn network(ip: IpAddr, prefix: Option<&str>) -> Result<(IpAddr, u8), String> {
    let most = if ip.is_ipv4() { 32 } else { 128 };
    let len = match prefix {
        None => most,
        Some(text) => text
            .parse()
            .ok()
            .filter(|&len| len <= most)
            .ok_or_else(|| {
                format!("`/{text}` is not a prefix length of {ip}; expected 0 to {most}")
            })?,
    };
    match ip {
        IpAddr::V6(v6) if len >= 96 && v6.to_ipv4_mapped().is_some() => {
            let v4 = v6.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED);
            Ok((v4.into(), len - 96))
        }
        _ => Ok((ip, len)),
    }
}

/// Parses the beginning of an IPv4 address, the rest of which is 0: `10/8`.
fn short(text: &str) -> Option<IpAddr> {
    let mut octets = [0; 4];
    for (number, part) in text.split('.').enumerate() {
        *octets.get_mut(number)? = part.parse().ok()?;
    }
    Some(Ipv4Addr::from(octets).into())
}

fn resolve(name: &str) -> Result<Vec<IpAddr>, String> {
    if name
        .chars()
        .all(|c| c.is_ascii_digit() || ".:/".contains(c))
    {
        return Err(format!("`{name}` is not an address"));
    }
    let found: Vec<IpAddr> = (name, 0)
        .to_socket_addrs()
        .map_err(|e| format!("`{name}` is neither an address nor a known host: {e}"))?
        .map(|a| match a.ip() {
            IpAddr::V6(v6) => Ipv6Addr::to_canonical(&v6),
            v4 => v4,
        })
        .collect();
    Ok(found)
}

/// Parses a port's number, or its name in /etc/services.
pub fn port(text: &str) -> Result<u16, String> {
    if let Ok(port) = text.parse() {
        return Ok(port);
    }
    if text.is_empty() || text.chars().all(|c| c.is_ascii_digit() || c == '-') {
        return Err(format!("`{text}` is not a port; expected 0 to 65535"));
    }
    let services = std::fs::read_to_string("/etc/services").unwrap_or_default();
    services
        .lines()
        .filter_map(|line| line.split('#').next())
        .find_map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next()?;
            let (port, protocol) = words.next()?.split_once('/')?;
            let named = name == text || words.any(|alias| alias == text);
            (named && protocol == "tcp").then(|| port.parse().ok())?
        })
        .ok_or_else(|| format!("`{text}` is neither a port nor a TCP service of /etc/services"))
}
