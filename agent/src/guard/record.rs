//! Reads the kernel's records, whose fields are in `layout.rs`: little-endian numbers at fixed places.

/// A value at its place in a record.
pub trait Read<'a> {
    fn read(bytes: &'a [u8]) -> Self;
}

macro_rules! numbers {
    ($($kind:ty)*) => {$(
        impl<'a> Read<'a> for $kind {
            /// Reads a value; 0 if there are too few bytes. The caller has checked the record's size for its type.
            fn read(bytes: &'a [u8]) -> Self {
                bytes.try_into().map_or(0, Self::from_le_bytes)
            }
        }
    )*};
}
numbers! { u8 u16 u32 i32 u64 }

impl<'a> Read<'a> for &'a [u8] {
    fn read(bytes: &'a [u8]) -> Self {
        bytes
    }
}

/// The first fields of each record: its type, and its size with the bytes after the struct.
pub fn head(bytes: &[u8]) -> Option<(u16, usize)> {
    let kind = bytes.get(..2)?;
    let size: u16 = Read::read(bytes.get(2..4)?);
    Some((Read::read(kind), usize::from(size)))
}

/// Defines a view of a record's bytes for each struct. A line is `field: type, offset, bytes;`.
macro_rules! records {
    ($($(#[$about:meta])* $name:ident: $number:literal, $size:literal bytes {
        $($(#[$meaning:meta])* $field:ident: $kind:ty, $at:literal, $len:literal;)*
    })*) => {$(
        $(#[$about])*
        #[derive(Clone, Copy)]
        pub struct $name<'a>(pub &'a [u8]);

        #[allow(dead_code)] // the kernel writes more than the tables have
        impl<'a> $name<'a> {
            pub const TYPE: u16 = $number;
            pub const SIZE: usize = $size;

            $(
                $(#[$meaning])*
                pub fn $field(&self) -> $kind {
                    $crate::guard::record::Read::read(self.0.get($at..$at + $len).unwrap_or_default())
                }
            )*

            /// The bytes after the struct.
            pub fn rest(&self) -> &'a [u8] {
                self.0.get(Self::SIZE..).unwrap_or_default()
            }
        }

        impl<'a> $crate::guard::record::Read<'a> for $name<'a> {
            fn read(bytes: &'a [u8]) -> Self {
                Self(bytes)
            }
        }
    )*};
}
pub(crate) use records;
