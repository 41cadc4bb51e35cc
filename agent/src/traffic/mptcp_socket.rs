//! Questions to the kernel about an MPTCP socket (`linux/mptcp.h`): its connection, and tcp_info of its subflows.

use std::os::fd::RawFd;

use anyhow::{Context, Result};

use super::flow_stats::FlowStats;
use super::socket::tcp_info;
use netwarp_records::sockets::TcpInfo;

const SOL_MPTCP: libc::c_int = 284;
const MPTCP_INFO: libc::c_int = 1;
const MPTCP_TCPINFO: libc::c_int = 2;
const FLAG_FALLBACK: u32 = 1;
/// Bytes of struct mptcp_subflow_data, which comes before the array.
const HEAD: usize = 16;
/// Room for struct tcp_info of each subflow.
const ROOM: usize = 512;
/// A connection has one subflow more than the path manager may add (MPTCP_PM_ADDR_MAX).
const SUBFLOWS: usize = 9;

/// Counts of a connection. None: a kernel that lacks them.
pub struct Mptcp {
    pub subflows: u16,
    pub sent_bytes: Option<u64>,
    pub reinjected_bytes: Option<u64>,
}

/// Totals of a sender.
pub struct Totals {
    /// None: it fell back to TCP.
    pub mptcp: Option<Mptcp>,
    /// struct tcp_info of each subflow.
    subflows: Vec<Vec<u8>>,
}

impl Totals {
    /// Asks a connected socket.
    pub fn of(fd: RawFd) -> Result<Self> {
        let fallen_back = Self {
            mptcp: None,
            subflows: vec![],
        };
        let info = match option(fd, MPTCP_INFO, vec![0; 256]) {
            Ok(info) if word(&info, 8)? & FLAG_FALLBACK == 0 => info,
            // A socket that fell back passes the question on to TCP, which does not know it.
            Err(e) if !is_refusal(&e) => return Err(e).context("MPTCP_INFO"),
            _ => {
                let subflows = vec![tcp_info(fd)?];
                return Ok(Self {
                    subflows,
                    ..fallen_back
                });
            }
        };
        let subflows = subflows(fd)?;
        Ok(Self {
            mptcp: Some(Mptcp {
                subflows: u16::try_from(subflows.len())?,
                sent_bytes: long(&info, 56),
                reinjected_bytes: long(&info, 48),
            }),
            subflows,
        })
    }

    /// Adds the counts of the subflows to those of the flow.
    pub fn add_to(&self, stats: &mut FlowStats) {
        for info in &self.subflows {
            stats.add_sender(&TcpInfo::new(info));
        }
    }
}

fn is_refusal(error: &std::io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOPROTOOPT | libc::EOPNOTSUPP)
    )
}

/// struct tcp_info of each subflow that exists.
fn subflows(fd: RawFd) -> Result<Vec<Vec<u8>>> {
    let mut asked = vec![0; HEAD + SUBFLOWS * ROOM];
    asked[0..4].copy_from_slice(&(HEAD as u32).to_ne_bytes());
    asked[12..16].copy_from_slice(&(ROOM as u32).to_ne_bytes());
    let told = option(fd, MPTCP_TCPINFO, asked).context("MPTCP_TCPINFO")?;
    let (count, size) = (word(&told, 4)? as usize, word(&told, 8)? as usize);
    // The kernel shortens the size of an element to its own.
    let step = (word(&told, 12)? as usize).max(1);
    let infos = told.get(HEAD..).unwrap_or_default().chunks_exact(step);
    Ok(infos
        .take(count)
        .map(|info| info[..size.min(step)].to_vec())
        .collect())
}

/// Reads an option of MPTCP into `bytes`, which hold the question.
fn option(fd: RawFd, name: libc::c_int, mut bytes: Vec<u8>) -> std::io::Result<Vec<u8>> {
    let mut len = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into the buffer and stores their number in `len`.
    let result =
        unsafe { libc::getsockopt(fd, SOL_MPTCP, name, bytes.as_mut_ptr().cast(), &mut len) };
    if result < 0 {
        return Err(std::io::Error::last_os_error());
    }
    bytes.truncate(len as usize);
    Ok(bytes)
}

fn word(bytes: &[u8], at: usize) -> Result<u32> {
    let found = bytes.get(at..at + 4).context("a short answer")?;
    Ok(u32::from_ne_bytes(found.try_into()?))
}

/// A field of 64 bits; None if the kernel's struct ends before it.
fn long(bytes: &[u8], at: usize) -> Option<u64> {
    let found = bytes.get(at..at + 8)?;
    found.try_into().ok().map(u64::from_ne_bytes)
}
