//! Numbers and the header of the messages that set up and read queueing disciplines (linux/rtnetlink.h,
//! linux/pkt_sched.h).

pub const RTM_NEWQDISC: u16 = 36;
pub const RTM_DELQDISC: u16 = 37;
pub const RTM_GETQDISC: u16 = 38;
pub const RTM_NEWTCLASS: u16 = 40;
pub const RTM_DELTCLASS: u16 = 41;
pub const RTM_GETTCLASS: u16 = 42;
pub const TCA_KIND: u16 = 1;
pub const TCA_OPTIONS: u16 = 2;
pub const TCA_STATS2: u16 = 7;
pub const TC_H_ROOT: u32 = 0xffff_ffff;
/// sizeof(struct tcmsg)
pub const TCMSG_BYTES: usize = 20;

/// Encodes struct tcmsg.
pub fn tcmsg(index: u32, handle: u32, parent: u32, info: u32) -> [u8; TCMSG_BYTES] {
    let mut bytes = [0; TCMSG_BYTES];
    for (at, value) in [(4, index), (8, handle), (12, parent), (16, info)] {
        bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }
    bytes
}
