//! The kernel's path manager of MPTCP in a node (generic netlink, `linux/mptcp_pm.h`): the addresses from which its
//! connections open subflows, and how many they may have.

use anyhow::{Context, Result, anyhow};
use netlink_sys::protocols::NETLINK_GENERIC;

use super::address::octets;
use super::nodes::Network;
use super::site::{Site, index_of};
use crate::lab::{Mptcp, MptcpEndpoint};
use netwarp_records::netlink::{Netlink, Request, attributes};

/// The controller of generic netlink (`linux/genetlink.h`).
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_VERSION: u8 = 2;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
/// struct genlmsghdr.
const HEADER: usize = 4;
const NAME: &str = "mptcp_pm";
const VERSION: u8 = 1;
const CMD_ADD_ADDR: u8 = 1;
const CMD_SET_LIMITS: u8 = 5;
const ATTR_ADDR: u16 = 1;
const ATTR_RCV_ADD_ADDRS: u16 = 2;
const ATTR_SUBFLOWS: u16 = 3;
const ADDR_FAMILY: u16 = 1;
const ADDR_ADDR4: u16 = 3;
const ADDR_ADDR6: u16 = 4;
const ADDR_FLAGS: u16 = 6;
const ADDR_IF_IDX: u16 = 7;
const FLAG_SUBFLOW: u32 = 1 << 1;
const FLAG_BACKUP: u32 = 1 << 2;

/// Sets limits and endpoints of a node that has any.
pub fn apply(network: &Network, site: &Site, wanted: &Mptcp) -> Result<()> {
    let mut socket = network
        .node(site.name)?
        .run(|| Netlink::open(NETLINK_GENERIC))??;
    let family = family(&mut socket).context("this kernel has no MPTCP (CONFIG_MPTCP)")?;
    let command = |number: u8| Request::new(family, 0).raw(&[number, VERSION, 0, 0]);
    let limits = command(CMD_SET_LIMITS)
        .u32(ATTR_RCV_ADD_ADDRS, 0)
        .u32(ATTR_SUBFLOWS, wanted.subflows);
    socket.change(limits).context("limits of MPTCP")?;
    for endpoint in &wanted.endpoints {
        let index = index_of(&site.ends, &endpoint.interface)?;
        let added = command(CMD_ADD_ADDR).nest(ATTR_ADDR, |r| address(r, endpoint, index));
        socket
            .change(added)
            .with_context(|| format!("endpoint {} of MPTCP", endpoint.address))?;
    }
    Ok(())
}

fn address(request: Request, endpoint: &MptcpEndpoint, index: u32) -> Request {
    let (family, attribute) = match endpoint.address.is_ipv4() {
        true => (libc::AF_INET, ADDR_ADDR4),
        false => (libc::AF_INET6, ADDR_ADDR6),
    };
    let backup = if endpoint.backup { FLAG_BACKUP } else { 0 };
    request
        .attr(ADDR_FAMILY, &(family as u16).to_ne_bytes())
        .attr(attribute, &octets(endpoint.address))
        .u32(ADDR_FLAGS, FLAG_SUBFLOW | backup)
        .u32(ADDR_IF_IDX, index)
}

/// The number of the path manager's family.
fn family(socket: &mut Netlink) -> Result<u16> {
    let request = Request::new(GENL_ID_CTRL, 0)
        .raw(&[CTRL_CMD_GETFAMILY, CTRL_VERSION, 0, 0])
        .text(CTRL_ATTR_FAMILY_NAME, NAME);
    let mut found = None;
    socket.ask(request, |_, payload| {
        let listed = attributes(payload.get(HEADER..).unwrap_or_default());
        for (kind, value) in listed {
            if let (CTRL_ATTR_FAMILY_ID, Ok(number)) = (kind, value.try_into()) {
                found = Some(u16::from_ne_bytes(number));
            }
        }
    })?;
    found.ok_or_else(|| anyhow!("no number of {NAME}"))
}
