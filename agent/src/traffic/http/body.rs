//! The content of responses, which does not matter, and the requests for it.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use anyhow::Result;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::http::{Request, Response, StatusCode, Version};

/// Bytes that are handed over at once.
const CHUNK: usize = 1 << 14;
static ZEROS: [u8; CHUNK] = [0; CHUNK];
/// The urgency of a request that states none (RFC 9218, section 4.1).
pub const USUAL: u8 = 3;
const PRIORITY: &str = "priority";

/// So many zeros.
pub struct Zeros(pub u64);

impl Zeros {
    /// The next bytes; None if none are left.
    pub fn take(&mut self) -> Option<Bytes> {
        let length = self.0.min(CHUNK as u64);
        self.0 -= length;
        let bytes = ZEROS.get(..length as usize).unwrap_or_default();
        (length > 0).then(|| Bytes::from_static(bytes))
    }
}

impl Body for Zeros {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0 == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0)
    }
}

/// The request for an object of this size, with few fields, as of curl.
pub fn request<B>(
    to: SocketAddr,
    version: Version,
    bytes: u64,
    urgency: u8,
    body: B,
) -> Result<Request<B>> {
    let mut request = Request::get(match version {
        Version::HTTP_11 => format!("/{bytes}"),
        _ => format!("https://{to}/{bytes}"),
    })
    .version(version)
    .header("user-agent", "netwarp")
    .header("accept", "*/*");
    if version == Version::HTTP_11 {
        request = request.header("host", to.to_string());
    }
    if urgency != USUAL {
        request = request.header(PRIORITY, format!("u={urgency}"));
    }
    Ok(request.body(body)?)
}

/// The response to a request: as many bytes as its path says.
pub fn respond<B>(request: &Request<B>) -> Response<Zeros> {
    let asked = request.uri().path().trim_start_matches('/').parse::<u64>();
    let mut response = Response::new(Zeros(*asked.as_ref().unwrap_or(&0)));
    if asked.is_err() {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    response
}

/// The urgency that a request states (RFC 9218, section 4.1).
pub fn urgency_of<B>(request: &Request<B>) -> u8 {
    let field = request
        .headers()
        .get(PRIORITY)
        .and_then(|value| value.to_str().ok());
    let urgency = field.and_then(|value| value.strip_prefix("u=")?.parse().ok());
    urgency.filter(|urgency| *urgency < 8).unwrap_or(USUAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_has_as_many_bytes_as_its_path_says() -> Result<()> {
        let to = SocketAddr::from(([10, 0, 0, 1], 443));
        for version in [Version::HTTP_11, Version::HTTP_2, Version::HTTP_3] {
            let mut response = respond(&request(to, version, 40_000, USUAL, ())?);
            let parts: Vec<usize> = std::iter::from_fn(|| response.body_mut().take())
                .map(|part| part.len())
                .collect();
            assert_eq!(parts, [CHUNK, CHUNK, 40_000 - 2 * CHUNK]);
        }
        let unknown = respond(&Request::get("/favicon.ico").body(())?);
        assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
        Ok(())
    }

    #[test]
    fn urgency_is_stated_unless_it_is_the_usual_one() -> Result<()> {
        let to = SocketAddr::from(([10, 0, 0, 1], 443));
        let usual = request(to, Version::HTTP_3, 1, USUAL, ())?;
        assert!(!usual.headers().contains_key(PRIORITY));
        assert_eq!(urgency_of(&usual), USUAL);
        assert_eq!(urgency_of(&request(to, Version::HTTP_3, 1, 1, ())?), 1);
        let wrong = Request::get("/").header(PRIORITY, "u=9").body(())?;
        assert_eq!(urgency_of(&wrong), USUAL);
        Ok(())
    }
}
