//! Segmentation and aggregation of an interface, as ethtool(8) sets them.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use anyhow::{Result, bail};

/// Commands that read and set struct ethtool_value, linux/ethtool.h, and their names.
const SEGMENTATION: [(u32, u32, &str); 3] = [
    (0x1e, 0x1f, "tso"),
    (0x23, 0x24, "gso"),
    (0x2b, 0x2c, "gro"),
];
const SIOCETHTOOL: libc::c_ulong = 0x8946;

/// Switches offloads. They are off unless the link asks for them, so that one packet is one skb: a super-packet would
/// take one place in a queue. An offload that is as it should be is left alone: a driver whose value is fixed refuses
/// even that one.
pub fn switch(interface: &str, on: [bool; 3]) -> Result<()> {
    let asker = Asker::open(interface)?;
    let now = asker.read()?;
    for (((_, command, name), on), now) in SEGMENTATION.iter().zip(on).zip(now) {
        if on != now {
            asker.ask(*command, name, u32::from(on))?;
        }
    }
    Ok(())
}

/// Reads whether each offload is on.
pub fn read(interface: &str) -> Result<[bool; 3]> {
    Asker::open(interface)?.read()
}

/// A socket of the namespace in which it was opened, with an interface there.
struct Asker<'i> {
    socket: OwnedFd,
    interface: &'i str,
}

impl<'i> Asker<'i> {
    fn open(interface: &'i str) -> Result<Self> {
        // SAFETY: socket(2) accesses no memory of this process; a non-negative result is a new descriptor that nothing
        // else owns.
        let socket = unsafe {
            let fd = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
            if fd < 0 {
                bail!("socket: {}", std::io::Error::last_os_error());
            }
            OwnedFd::from_raw_fd(fd)
        };
        Ok(Self { socket, interface })
    }

    fn read(&self) -> Result<[bool; 3]> {
        let mut on = [false; 3];
        for ((command, _, name), on) in SEGMENTATION.iter().zip(&mut on) {
            *on = self.ask(*command, name, 0)? != 0;
        }
        Ok(on)
    }

    fn ask(&self, command: u32, name: &str, value: u32) -> Result<u32> {
        let interface = self.interface;
        let mut value = [command, value];
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request
            .ifr_name
            .iter_mut()
            .zip(interface.bytes().take(libc::IFNAMSIZ - 1))
        {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
        // SAFETY: SIOCETHTOOL reads an ifreq whose data points to a struct ethtool_value; both outlive the call.
        if unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL, &mut request) } < 0 {
            bail!(
                "ethtool -K {interface} {name}: {}",
                std::io::Error::last_os_error()
            );
        }
        Ok(value[1])
    }
}
