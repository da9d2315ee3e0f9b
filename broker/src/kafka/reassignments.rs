//! `ListPartitionReassignments`. Replicas are not moved by clients, so none is ever under way; the
//! tools ask before they describe a topic.

use kafka_wire::Versions;
use kafka_wire::messages::list_partition_reassignments::{Request, Response};

use super::dispatch::{Answer, Call, Serve};

impl Serve for Request {
    const OFFERED: Versions = Versions::new(0, 0);

    async fn serve(self, _: Call) -> Answer<Response> {
        Response::default().into()
    }
}
