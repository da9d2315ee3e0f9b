//! Publishers that have to wait because a broker is short of memory or disk hear of it (RabbitMQ's
//! `connection.blocked`). A blocked connection is not read at all, so its acknowledgements wait as well;
//! what its consumers are sent goes on, and so do connections that have not published since.

use amqp_wire::method::connection;

use super::Connection;
use crate::queue::Shortage;

impl Connection {
    /// Says once that the connection is blocked, and once that it is not any more. The session decides
    /// which it is, and holds back the reading.
    pub(super) fn tell_pressure(&mut self) {
        let blocked = self.session.is_blocked();
        if blocked == self.blocked {
            return;
        }
        self.blocked = blocked;
        tracing::debug!(peer = %self.peer, blocked, "AMQP publisher held back or let go");
        if !self.wire.client_can("connection.blocked") {
            return;
        }
        if !blocked {
            self.wire.send(0, &connection::Unblocked {});
            return;
        }
        let shortage = *self.client.front.queues.pressure().borrow();
        let reason = shortage.map_or("", Shortage::as_str).into();
        self.wire.send(0, &connection::Blocked { reason });
    }
}
