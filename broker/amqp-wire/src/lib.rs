//! amqp-wire
#![forbid(unsafe_code)]
