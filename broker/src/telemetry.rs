//! The process's metric registry and its log output. Each module declares its metrics beside the
//! code that counts; this one only holds the registry they are put into.

pub mod levels;

use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::registry::Registry;

/// The registry that `/metrics` encodes. Cheap to clone.
#[derive(Clone)]
pub struct Telemetry(Arc<Mutex<Registry>>);

impl Default for Telemetry {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Registry::default())))
    }
}

impl Telemetry {
    /// Lets a module put its metrics in, under `millrace_` and a prefix of its own.
    pub fn register(&self, prefix: &str, put: impl FnOnce(&mut Registry)) {
        let prefix = format!("millrace_{prefix}");
        put(self.0.lock().sub_registry_with_prefix(prefix));
    }

    /// Lets a module put its metrics in under their full names (`api::metric`).
    pub fn register_named<T>(&self, put: impl FnOnce(&mut Registry) -> T) -> T {
        put(&mut self.0.lock())
    }

    /// The text of `/metrics` (OpenMetrics).
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _written = prometheus_client::encoding::text::encode(&mut text, &self.0.lock());
        text
    }
}
