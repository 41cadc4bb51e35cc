//! The endpoints' settings: quinn's own, except those that a run must decide.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use quinn_proto::congestion::{
    BbrConfig, Controller, ControllerFactory, CubicConfig, NewRenoConfig,
};
use quinn_proto::{EndpointConfig, TransportConfig, VarInt};
use rand_chacha::rand_core::{Rng, SeedableRng};
use ring::hmac;

use super::observed::{Log, Logs, Observed};
use crate::traffic::threads::lock;

/// Bytes of the largest datagram that each path must carry (RFC 9000, section 14).
const LEAST_DATAGRAM: u16 = 1200;
/// More than a run can send, so that flow control never limits a flow, as socket buffers do not limit TCP.
const WINDOW: u64 = 1 << 40;

/// The role of an endpoint in its connections.
#[derive(Debug, Clone, Copy)]
pub enum Side {
    Client,
    Server,
}

/// The settings that a flow chooses.
#[derive(Debug, Clone, Copy)]
pub struct Settings<'a> {
    pub cc: &'a str,
    /// UDP payload of every full packet.
    pub datagram_bytes: u32,
    /// Streams of one direction that the peer may have open at once; of two directions as many as quinn lets it, 100.
    pub streams: u16,
    pub gso: bool,
    /// The size of quinn's buffer for unreliable datagrams that wait.
    pub waiting_bytes: Option<usize>,
}

impl Settings<'_> {
    /// The settings of an endpoint: its random numbers are those of the flow's seed.
    pub fn endpoint(&self, seed: u64, side: Side) -> Result<EndpointConfig> {
        let mut stream = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        stream.set_stream(match side {
            Side::Client => 1,
            Side::Server => 2,
        });
        let mut draw = || {
            let mut bytes = [0_u8; 32];
            stream.fill_bytes(&mut bytes);
            bytes
        };
        let reset = hmac::Key::new(hmac::HMAC_SHA256, &draw());
        let mut config = EndpointConfig::new(Arc::new(reset));
        config.rng_seed(Some(draw()));
        config.max_udp_payload_size(self.datagram_size()?)?;
        Ok(config)
    }

    /// The settings of connections. Datagrams have one size from the first on: quinn would begin with 1200 bytes and look
    /// for more, so that a flow's packets would have several sizes.
    pub fn transport(&self, logs: Option<Logs>) -> Result<TransportConfig> {
        let size = self.datagram_size()?;
        let mut config = TransportConfig::default();
        config
            .initial_mtu(size)
            .min_mtu(size)
            .mtu_discovery_config(None)
            .max_idle_timeout(None)
            .stream_receive_window(VarInt::from_u64(WINDOW)?)
            .receive_window(VarInt::from_u64(WINDOW)?)
            .max_concurrent_uni_streams(VarInt::from_u32(self.streams.into()))
            .enable_segmentation_offload(self.gso);
        if let Some(bytes) = self.waiting_bytes {
            config.datagram_send_buffer_size(bytes);
        }
        let control = Control::named(self.cc)?;
        config.congestion_controller_factory(Arc::new(Factory { control, logs }));
        Ok(config)
    }

    fn datagram_size(&self) -> Result<u16> {
        let size = self.datagram_bytes;
        ensure!(
            size >= LEAST_DATAGRAM.into(),
            "QUIC needs datagrams of {LEAST_DATAGRAM} bytes (RFC 9000, section 14), and one packet of its path has room for \
         {size}; raise the MTU of the links on its path"
        );
        Ok(u16::try_from(size)?)
    }
}

/// quinn's congestion controls.
#[derive(Debug, Clone, Copy)]
enum Control {
    Cubic,
    NewReno,
    Bbr,
}

impl Control {
    fn named(name: &str) -> Result<Self> {
        Ok(match name {
            "cubic" => Self::Cubic,
            "newreno" => Self::NewReno,
            "bbr" => Self::Bbr,
            _ => bail!("quinn has no congestion control {name:?}; it has cubic, newreno and bbr"),
        })
    }
}

/// Makes the controller of each connection; with logs, each controller writes its observations into a new one.
struct Factory {
    control: Control,
    logs: Option<Logs>,
}

impl ControllerFactory for Factory {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        let inner = match self.control {
            Control::Cubic => Arc::new(CubicConfig::default()).build(now, mtu),
            Control::NewReno => Arc::new(NewRenoConfig::default()).build(now, mtu),
            Control::Bbr => Arc::new(BbrConfig::default()).build(now, mtu),
        };
        match &self.logs {
            Some(logs) => {
                let log = Log::default();
                lock(logs).push(Arc::clone(&log));
                Box::new(Observed::new(inner, log))
            }
            None => inner,
        }
    }
}
