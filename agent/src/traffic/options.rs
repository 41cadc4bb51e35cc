//! Options of a flow's sockets, in the lab's form.

use std::io::Error;
use std::os::fd::RawFd;

use anyhow::{Result, bail};

use crate::lab::SocketOption;

/// Gives a socket its flow's options, in their order.
pub fn set(socket: RawFd, options: &[SocketOption]) -> Result<()> {
    options
        .iter()
        .try_for_each(|option| set_one(socket, option))
}

fn set_one(fd: RawFd, option: &SocketOption) -> Result<()> {
    let (level, name) = (option.level as i32, option.option as i32);
    let done = set_number(fd, level, name, option.value);
    match (done, unforced(level, name)) {
        (Err(e), Some(plain)) if e.raw_os_error() == Some(libc::EPERM) => {
            set_within_limit(fd, option, plain)
        }
        (Err(e), _) => bail!("{} {}: {e}", option.name, option.value),
        (Ok(()), _) => Ok(()),
    }
}

/// The option that sets a buffer's size up to the machine's limit, for one that exceeds it; None for other options.
fn unforced(level: i32, name: i32) -> Option<i32> {
    match (level, name) {
        (libc::SOL_SOCKET, libc::SO_SNDBUFFORCE) => Some(libc::SO_SNDBUF),
        (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE) => Some(libc::SO_RCVBUF),
        _ => None,
    }
}

/// Sets a buffer's size without the right to exceed the machine's limit, up to which the kernel silently shortens it.
fn set_within_limit(fd: RawFd, option: &SocketOption, plain: i32) -> Result<()> {
    set_number(fd, libc::SOL_SOCKET, plain, option.value)?;
    let doubled = number(fd, libc::SOL_SOCKET, plain)?;
    if i64::from(doubled) < 2 * option.value {
        bail!(
            "{} {}: this machine limits buffers to {} bytes (net.core.wmem_max, net.core.rmem_max), and exceeding \
             that needs CAP_NET_ADMIN there; ask for less, or raise the limit",
            option.name,
            option.value,
            doubled / 2
        );
    }
    Ok(())
}

/// Sets an option that is a whole number.
pub fn set_number(fd: RawFd, level: i32, name: i32, value: i64) -> std::io::Result<()> {
    let word = value as i32;
    // SAFETY: `word` outlives the call, and its size is given.
    let result = unsafe {
        libc::setsockopt(
            fd,
            level,
            name,
            (&raw const word).cast(),
            size_of_val(&word) as libc::socklen_t,
        )
    };
    if result < 0 {
        return Err(Error::last_os_error());
    }
    Ok(())
}

fn number(fd: RawFd, level: i32, name: i32) -> std::io::Result<i32> {
    let mut word = 0_i32;
    let mut len = size_of_val(&word) as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into `word`.
    let result = unsafe { libc::getsockopt(fd, level, name, (&raw mut word).cast(), &mut len) };
    if result < 0 {
        return Err(Error::last_os_error());
    }
    Ok(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::socket::bound;
    use nix::sys::socket::SockType;
    use std::net::SocketAddr;
    use std::os::fd::{AsRawFd, OwnedFd};

    fn option(name: &str, level: i32, option: i32, value: i64) -> SocketOption {
        SocketOption {
            name: name.to_string(),
            level: level as u32,
            option: option as u32,
            value,
        }
    }

    fn socket() -> Result<OwnedFd> {
        bound(SocketAddr::from(([127, 0, 0, 1], 0)), SockType::Stream)
    }

    #[test]
    fn a_later_priority_replaces_the_one_of_a_traffic_class() -> Result<()> {
        let socket = socket()?;
        let options = [
            option("IP_TOS", libc::IPPROTO_IP, libc::IP_TOS, 0xb8),
            option("SO_PRIORITY", libc::SOL_SOCKET, libc::SO_PRIORITY, 3),
        ];
        set(socket.as_raw_fd(), &options)?;
        let fd = socket.as_raw_fd();
        assert_eq!(number(fd, libc::IPPROTO_IP, libc::IP_TOS)?, 0xb8);
        assert_eq!(number(fd, libc::SOL_SOCKET, libc::SO_PRIORITY)?, 3);
        Ok(())
    }

    #[test]
    fn a_refused_option_is_named() -> Result<()> {
        let refused = set(
            socket()?.as_raw_fd(),
            &[option("TCP_MAXSEG", libc::IPPROTO_TCP, libc::TCP_MAXSEG, 1)],
        );
        let message = refused.err().map(|e| e.to_string()).unwrap_or_default();
        assert!(
            message.starts_with("TCP_MAXSEG 1: Invalid argument"),
            "{message}"
        );
        Ok(())
    }

    #[test]
    fn a_buffer_is_as_large_as_asked_or_refused() -> Result<()> {
        let socket = socket()?;
        let wanted = 1_i64 << 29;
        let asked = option(
            "SO_RCVBUFFORCE",
            libc::SOL_SOCKET,
            libc::SO_RCVBUFFORCE,
            wanted,
        );
        let is_large = |socket: &OwnedFd| -> Result<bool> {
            let got = number(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF)?;
            Ok(i64::from(got) >= 2 * wanted)
        };
        match set(socket.as_raw_fd(), &[asked]) {
            Ok(()) => assert!(is_large(&socket)?),
            Err(e) => assert!(e.to_string().contains("this machine limits buffers"), "{e}"),
        }
        Ok(())
    }
}
