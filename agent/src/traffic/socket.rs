//! Sockets of the generators.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use anyhow::{Context, Result, bail};
use nix::sys::socket::{SockType, SockaddrStorage, bind, setsockopt, sockopt};

/// SCTP's options, `include/uapi/linux/sctp.h`.
const SCTP_INITMSG: libc::c_int = 2;

/// Makes a socket of `kind` for the family of `local`, bound to it.
pub fn bound(local: SocketAddr, kind: SockType) -> Result<OwnedFd> {
    bound_of(local, kind as libc::c_int, 0)
}

/// Makes a socket of SCTP, for one association (RFC 6458, section 4), bound to `local`.
pub fn bound_sctp(local: SocketAddr) -> Result<OwnedFd> {
    bound_of(local, libc::SOCK_STREAM, libc::IPPROTO_SCTP)
}

/// Makes a socket of Multipath TCP, bound to `local`.
pub fn bound_mptcp(local: SocketAddr) -> Result<OwnedFd> {
    bound_of(local, libc::SOCK_STREAM, libc::IPPROTO_MPTCP)
        .context("a socket of MPTCP, which a kernel may lack (CONFIG_MPTCP) or a node refuse (net.mptcp.enabled)")
}

fn bound_of(local: SocketAddr, kind: libc::c_int, protocol: libc::c_int) -> Result<OwnedFd> {
    let family = if local.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    let socket = opened(family, kind, protocol)?;
    setsockopt(&socket, sockopt::ReuseAddr, &true)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(local))
        .with_context(|| format!("cannot bind to {local}"))?;
    Ok(socket)
}

/// Makes an ICMP echo socket (`SOCK_DGRAM`): the kernel fills in checksum and identifier and returns only our replies.
pub fn echo(local: IpAddr) -> Result<OwnedFd> {
    let (family, protocol) = match local {
        IpAddr::V4(_) => (libc::AF_INET, libc::IPPROTO_ICMP),
        IpAddr::V6(_) => (libc::AF_INET6, libc::IPPROTO_ICMPV6),
    };
    opened(family, libc::SOCK_DGRAM, protocol).context("cannot open an echo socket")
}

fn opened(
    family: libc::c_int,
    kind: libc::c_int,
    protocol: libc::c_int,
) -> std::io::Result<OwnedFd> {
    // SAFETY: socket(2) accesses no memory of this process.
    let fd = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: `fd` is new and non-negative here, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets how many streams an association asks for, and accepts (struct sctp_initmsg).
pub fn set_streams(socket: &OwnedFd, streams: u16) -> Result<()> {
    let message: [u16; 4] = [streams, streams, 0, 0];
    // SAFETY: the message outlives the call, and its size is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_SCTP,
            SCTP_INITMSG,
            message.as_ptr().cast(),
            size_of_val(&message) as libc::socklen_t,
        )
    };
    if result < 0 {
        bail!("{streams} streams: {}", std::io::Error::last_os_error());
    }
    Ok(())
}

/// Sets a connection's congestion control; the kernel knows the available ones.
pub fn set_congestion_control(socket: &OwnedFd, name: &str) -> Result<()> {
    // SAFETY: the name's bytes outlive the call, and their length is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_CONGESTION,
            name.as_ptr().cast(),
            name.len() as libc::socklen_t,
        )
    };
    if result < 0 {
        let error = std::io::Error::last_os_error();
        let known = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
            .unwrap_or_default();
        bail!(
            "congestion control {name:?}: {error}; this kernel has: {}",
            known.trim()
        );
    }
    Ok(())
}

/// Checks whether a socket accepts this congestion control.
pub fn try_congestion_control(name: &str) -> Result<()> {
    let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    set_congestion_control(&bound(any, SockType::Stream)?, name)
}

/// Reads struct tcp_info, as many bytes of it as this kernel has.
pub fn tcp_info(fd: RawFd) -> Result<Vec<u8>> {
    let mut bytes = vec![0_u8; 512];
    let mut len = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into the buffer and stores their number in `len`.
    let result = unsafe {
        libc::getsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            bytes.as_mut_ptr().cast(),
            &mut len,
        )
    };
    if result < 0 {
        bail!("TCP_INFO: {}", std::io::Error::last_os_error());
    }
    bytes.truncate(len as usize);
    Ok(bytes)
}
