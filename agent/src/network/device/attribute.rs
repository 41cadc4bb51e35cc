//! An attribute of the driver `netwarp_wire`.

/// Its number and its content (drivers/net/netwarp_wire/wire.h).
pub type Attribute = (u16, Vec<u8>);
