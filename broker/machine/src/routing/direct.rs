//! Direct exchange: the routing key equals the binding's.

pub(super) fn matches(binding_key: &str, routing_key: &str) -> bool {
    binding_key == routing_key
}
