//! Capabilities of root (capabilities(7)).

use std::io::{Error, Result};

/// The version in `linux/capability.h` that has two words of 32 capabilities for each set.
const VERSION: u32 = 0x2008_0522;
/// Root's programs read what root may, of the files that Landlock allows: directories of users, for example.
const KEPT: u64 = 1 << CAP_DAC_READ_SEARCH;
const CAP_DAC_READ_SEARCH: u32 = 2;

#[repr(C)]
struct Header {
    version: u32,
    process: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Word {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Drops all capabilities but `KEPT`, permanently.
pub fn drop_most() -> Result<()> {
    let mut header = Header {
        version: VERSION,
        process: 0,
    };
    let mut words = [Word {
        effective: 0,
        permitted: 0,
        inheritable: 0,
    }; 2];
    for number in (0..64).filter(|number| KEPT >> number & 1 == 0) {
        // It fails for capabilities that this kernel does not have, and without CAP_SETPCAP. Then there is no way to
        // them either, because of no_new_privs.
        // SAFETY: prctl takes numbers.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0) };
    }
    // SAFETY: capget writes a header and two words, capset reads them.
    let is_dropped = unsafe {
        libc::syscall(libc::SYS_capget, &raw mut header, words.as_mut_ptr()) == 0 && {
            for (word, kept) in words.iter_mut().zip([KEPT as u32, (KEPT >> 32) as u32]) {
                word.permitted &= kept;
                word.effective = word.permitted;
                word.inheritable = 0;
            }
            libc::syscall(libc::SYS_capset, &raw const header, words.as_ptr()) == 0
        }
    };
    match is_dropped {
        true => Ok(()),
        false => Err(Error::last_os_error()),
    }
}
