//! What a session offers and enforces.

#[derive(Clone, Debug)]
pub struct Config {
    /// Channels open at once; 1 to 65,535.
    pub channel_max: u16,
    /// Bytes of the largest frame, its overhead included; at least [`FRAME_MIN`].
    pub frame_max: u32,
    /// Seconds between heartbeats that are offered; 0 offers none.
    pub heartbeat_s: u16,
    /// Bytes of the largest message body.
    pub message_bytes_max: u64,
    /// Bytes of the largest frame before tuning.
    pub handshake_frame_max: u32,
    pub product: String,
    pub version: String,
    /// More entries of the server properties: `platform`, `cluster_name` and the like.
    pub about: Vec<(String, String)>,
}

/// A client may not ask for smaller frames than this (section 4.2.3).
pub const FRAME_MIN: u32 = 4096;

impl Default for Config {
    /// RabbitMQ's limits. The product name and version are what clients look for before they use
    /// RabbitMQ's extensions.
    fn default() -> Self {
        Self {
            channel_max: 2047,
            frame_max: 131_072,
            heartbeat_s: 60,
            message_bytes_max: 16 << 20,
            handshake_frame_max: 8192,
            product: "RabbitMQ".into(),
            version: "4.2.0".into(),
            about: Vec::new(),
        }
    }
}
