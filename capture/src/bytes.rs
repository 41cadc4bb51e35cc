//! Reads numbers from slices that may be too short for them.

/// The bytes at `at`, if they are all there.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

pub fn u8_at(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

pub fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_be_bytes)
}

pub fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}

pub fn be128(bytes: &[u8], at: usize) -> Option<u128> {
    array(bytes, at).map(u128::from_be_bytes)
}

/// The byte order of a file's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Least significant byte first
    Little,
    /// Most significant byte first
    Big,
}

impl Order {
    pub fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = array(bytes, at)?;
        Some(match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        })
    }

    pub fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = array(bytes, at)?;
        Some(match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        })
    }

    pub fn u64(self, bytes: &[u8], at: usize) -> Option<u64> {
        let bytes = array(bytes, at)?;
        Some(match self {
            Self::Little => u64::from_le_bytes(bytes),
            Self::Big => u64::from_be_bytes(bytes),
        })
    }
}
