//! The certificate of the server: one for all runs, self-signed with Ed25519, so that its length never changes.

use ring::signature::{Ed25519KeyPair, KeyPair};

/// The seed of the key. It protects nothing: both ends are in one lab.
const SEED: [u8; 32] = *b"netwarp: a key that is no secret";
/// PKCS #8 of an Ed25519 key up to its seed (RFC 8410, section 7).
const PKCS8: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];
/// AlgorithmIdentifier of Ed25519 (RFC 8410, section 3).
const ED25519: [u8; 7] = [0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70];
/// The attribute commonName, 2.5.4.3.
const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];
const NAME: &[u8] = b"netwarp";

const BIT_STRING: u8 = 0x03;
const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const UTC_TIME: u8 = 0x17;
const UTF8_STRING: u8 = 0x0c;
const VERSION: u8 = 0xa0;

/// The private key, as PKCS #8.
pub fn key() -> Vec<u8> {
    [&PKCS8[..], &SEED].concat()
}

/// The certificate in DER (RFC 5280, section 4.1).
pub fn certificate() -> Result<Vec<u8>, ring::error::KeyRejected> {
    let pair = Ed25519KeyPair::from_seed_unchecked(&SEED)?;
    let name = element(
        SEQUENCE,
        &[&element(
            SET,
            &[&element(
                SEQUENCE,
                &[&COMMON_NAME, &element(UTF8_STRING, &[NAME])],
            )],
        )],
    );
    let validity = element(
        SEQUENCE,
        &[
            &element(UTC_TIME, &[b"700101000000Z"]),
            &element(UTC_TIME, &[b"491231235959Z"]),
        ],
    );
    let signed = element(
        SEQUENCE,
        &[
            &element(VERSION, &[&element(INTEGER, &[&[2]])]),
            &element(INTEGER, &[&[1]]),
            &ED25519,
            &name,
            &validity,
            &name,
            &element(
                SEQUENCE,
                &[
                    &ED25519,
                    &element(BIT_STRING, &[&[0], pair.public_key().as_ref()]),
                ],
            ),
        ],
    );
    let signature = element(BIT_STRING, &[&[0], pair.sign(&signed).as_ref()]);
    Ok(element(SEQUENCE, &[&signed, &ED25519, &signature]))
}

/// An element of DER with this content, of less than 64 KiB.
fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let [high, low] = (content.len() as u16).to_be_bytes();
    let head = match content.len() {
        0..128 => vec![tag, low],
        128..256 => vec![tag, 0x81, low],
        _ => vec![tag, 0x82, high, low],
    };
    [head, content].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_as_short_as_they_can_be() {
        assert_eq!(element(SET, &[]), [SET, 0]);
        assert_eq!(element(SET, &[&[7; 127]])[..2], [SET, 127]);
        assert_eq!(element(SET, &[&[7; 128]])[..3], [SET, 0x81, 128]);
        assert_eq!(element(SET, &[&[7; 256]])[..4], [SET, 0x82, 1, 0]);
    }

    #[test]
    fn the_certificate_is_always_the_same() -> Result<(), ring::error::KeyRejected> {
        assert_eq!(certificate()?, certificate()?);
        assert_eq!(certificate()?.len(), 211);
        Ok(())
    }
}
