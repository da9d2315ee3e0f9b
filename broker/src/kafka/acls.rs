//! `DescribeAcls`, `CreateAcls` and `DeleteAcls`: as a Kafka broker without an authorizer answers them.

use kafka_wire::messages::{
    create_acls::{self, AclCreationResult},
    delete_acls::{self, DeleteAclsFilterResult},
    describe_acls,
};
use kafka_wire::{ErrorCode, Str, Versions};

use super::dispatch::{Answer, Call, Serve};

const OFFERED: Versions = Versions::new(1, 3);
const DISABLED: ErrorCode = ErrorCode::SecurityDisabled;

fn message() -> Option<Str> {
    Some(Str::from_static("No Authorizer is configured."))
}

impl Serve for describe_acls::Request {
    const OFFERED: Versions = OFFERED;

    async fn serve(self, _: Call) -> Answer<Self::Response> {
        describe_acls::Response {
            error_code: DISABLED.code(),
            error_message: message(),
            ..describe_acls::Response::default()
        }
        .into()
    }
}

impl Serve for create_acls::Request {
    const OFFERED: Versions = OFFERED;

    async fn serve(self, _: Call) -> Answer<Self::Response> {
        let results = self.creations.iter().map(|_| AclCreationResult {
            error_code: DISABLED.code(),
            error_message: message(),
        });
        create_acls::Response {
            results: results.collect(),
            ..create_acls::Response::default()
        }
        .into()
    }
}

impl Serve for delete_acls::Request {
    const OFFERED: Versions = OFFERED;

    async fn serve(self, _: Call) -> Answer<Self::Response> {
        let results = self.filters.iter().map(|_| DeleteAclsFilterResult {
            error_code: DISABLED.code(),
            error_message: message(),
            ..DeleteAclsFilterResult::default()
        });
        delete_acls::Response {
            filter_results: results.collect(),
            ..delete_acls::Response::default()
        }
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kafka::testing::{self, Client};

    #[tokio::test]
    async fn every_acl_request_is_told_that_there_is_no_authorizer() {
        let server = testing::serve("").await;
        let mut client = Client::connect(&server).await;
        let told = (54, message());
        let described = client.call(3, &describe_acls::Request::default()).await;
        assert_eq!((described.error_code, described.error_message), told);
        let request = create_acls::Request {
            creations: vec![create_acls::AclCreation::default(); 2],
        };
        for result in client.call(3, &request).await.results {
            assert_eq!((result.error_code, result.error_message), told);
        }
        let request = delete_acls::Request {
            filters: vec![delete_acls::DeleteAclsFilter::default(); 2],
        };
        let deleted = client.call(3, &request).await.filter_results;
        assert_eq!(deleted.len(), 2);
        for result in deleted {
            assert_eq!((result.error_code, result.error_message), told);
        }
    }
}
