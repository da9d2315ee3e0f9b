use kafka_wire::messages::{describe_configs, incremental_alter_configs};
use kafka_wire::{ErrorCode, Str};
use machine::metadata::image::ConfigResource;
use model::BrokerId;

use super::resource_type::{BROKER, BROKER_LOGGER, GROUP, TOPIC};
use crate::kafka::testing::{self, Client};

const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;

/// Code and message of one change.
async fn alter(
    client: &mut Client,
    (kind, resource): (i8, &str),
    changes: &[(&str, i8, &str)],
) -> (i16, String) {
    let request = incremental_alter_configs::Request {
        resources: vec![incremental_alter_configs::AlterConfigsResource {
            resource_type: kind,
            resource_name: Str::from(resource),
            configs: changes
                .iter()
                .map(
                    |(name, operation, value)| incremental_alter_configs::AlterableConfig {
                        name: Str::from(*name),
                        config_operation: *operation,
                        value: (*operation != DELETE).then(|| Str::from(*value)),
                    },
                )
                .collect(),
        }],
        validate_only: false,
    };
    let response = client.call(1, &request).await.responses.remove(0);
    let message = response.error_message.unwrap_or_default();
    (response.error_code, message.to_string())
}

/// Lines as `name=value source readonly`, with the sources of all synonyms behind.
async fn describe(client: &mut Client, (kind, resource): (i8, &str), keys: &[&str]) -> Vec<String> {
    let request = describe_configs::Request {
        resources: vec![describe_configs::DescribeConfigsResource {
            resource_type: kind,
            resource_name: Str::from(resource),
            configuration_keys: Some(keys.iter().map(|key| Str::from(*key)).collect()),
        }],
        include_synonyms: true,
        ..describe_configs::Request::default()
    };
    let result = client.call(4, &request).await.results.remove(0);
    assert_eq!(result.error_code, 0, "{:?}", result.error_message);
    let line = |line: describe_configs::DescribeConfigsResourceResult| {
        let value = line.value.unwrap_or(Str::from_static("null"));
        let sources: Vec<i8> = line.synonyms.iter().map(|of| of.source).collect();
        let (source, read_only) = (line.config_source, line.read_only);
        format!("{}={value} {source} {read_only} {sources:?}", line.name)
    };
    result.configs.into_iter().map(line).collect()
}

#[tokio::test]
async fn changes_of_a_broker_are_refused_in_kafkas_words() {
    let server = testing::serve("").await;
    let mut client = Client::connect(&server).await;
    let invalid = ErrorCode::InvalidRequest.code();
    let config = ErrorCode::InvalidConfig.code();
    let read_only = "Cannot update these configs dynamically";
    type Changes<'a> = &'a [(&'a str, i8, &'a str)];
    let cases: &[(&str, Changes<'_>, i16, &str)] = &[
        (
            "",
            &[("num.partitions", SET, "3"), ("broker.rack", SET, "x")],
            invalid,
            &format!("{read_only}: [num.partitions, broker.rack]"),
        ),
        (
            "1",
            &[("node.id", SET, "3")],
            invalid,
            &format!("{read_only}: [node.id]"),
        ),
        ("1", &[("node.id", DELETE, "")], 0, ""),
        (
            "",
            &[("ssl.keystore.location", SET, "/x")],
            invalid,
            "These security configs can be dynamically updated only per-listener using the listener prefix: [ssl.keystore.location]",
        ),
        (
            "",
            &[("cordoned.log.dirs", SET, "/x")],
            invalid,
            "Cannot update these configs at default cluster level, broker id must be specified: [cordoned.log.dirs]",
        ),
        (
            "1",
            &[("listeners", SET, "KAFKA://:1")],
            invalid,
            "This broker reads these configs when it starts: change them in its file and restart it: [listeners]",
        ),
        (
            "",
            &[("log.segment.bytes", SET, "abc")],
            invalid,
            "Invalid value abc for configuration log.segment.bytes: Not a number of type INT",
        ),
        (
            "",
            &[("log.cleaner.min.cleanable.ratio", SET, "2")],
            invalid,
            "Invalid value 2.0 for configuration log.cleaner.min.cleanable.ratio: Value must be no more than 1",
        ),
        (
            "",
            &[("compression.gzip.level", SET, "0")],
            invalid,
            "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1",
        ),
        (
            "",
            &[("log.cleanup.policy", SET, "compact,compact")],
            invalid,
            "Configuration 'log.cleanup.policy' values must not be duplicated.",
        ),
        (
            "",
            &[("log.retention.ms", SET, "0")],
            invalid,
            "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
        ),
        (
            "",
            &[("log.cleaner.dedupe.buffer.size", SET, "10")],
            invalid,
            "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
        ),
        (
            "1",
            &[("log.cleaner.threads", SET, "3")],
            invalid,
            "Log cleaner threads cannot be increased to more than double the current value 1",
        ),
        ("1", &[("log.cleaner.threads", SET, "2")], 0, ""),
        (
            "",
            &[("num.io.threads", SET, "100")],
            invalid,
            "Dynamic thread count update validation failed for num.io.threads=100, value should not be greater than double the current value 8",
        ),
        (
            "",
            &[("log.segment.bytes", APPEND, "3")],
            config,
            "Config value append is not allowed for config key: log.segment.bytes",
        ),
        (
            "",
            &[
                ("log.retention.ms", SET, "1"),
                ("log.retention.ms", SET, "2"),
            ],
            invalid,
            "Error due to duplicate config keys",
        ),
        (
            "7",
            &[("log.retention.ms", SET, "1")],
            invalid,
            "Unexpected broker id, expected 1, but received 7",
        ),
        (
            "x",
            &[("log.retention.ms", SET, "1")],
            invalid,
            "Node id must be an integer, but it is: x",
        ),
        (
            "",
            &[("millrace.no.such", SET, "1")],
            config,
            "there is no configuration key millrace.no.such: remove it",
        ),
        (
            "",
            &[("max.connections.per.ip.overrides", SET, "127.0.0.1:many")],
            invalid,
            "Error parsing configuration property 'max.connections.per.ip.overrides': '127.0.0.1:many' is not an address and a number, as in 127.0.0.1:10",
        ),
    ];
    for (name, changes, code, message) in cases {
        let answer = alter(&mut client, (BROKER, name), changes).await;
        assert_eq!(answer, (*code, (*message).to_owned()), "{changes:?}");
    }
    // What was refused is not stored.
    let configs = server.front.metadata.image().configs.clone();
    assert_eq!(configs.get(&ConfigResource::BrokerDefault), None);
    let of_one = configs.get(&ConfigResource::Broker(BrokerId(1)));
    assert_eq!(of_one.map(imbl::OrdMap::len), Some(1));
}

#[tokio::test]
async fn a_broker_obeys_its_own_configs_before_those_of_all_and_those_before_its_file() {
    let server = testing::serve("log.segment.bytes=2000000\n").await;
    let mut client = Client::connect(&server).await;
    let (one, all) = ((BROKER, "1"), (BROKER, ""));
    let key = "log.segment.bytes";
    assert_eq!(
        describe(&mut client, one, &[key]).await,
        ["log.segment.bytes=2000000 4 false [4, 5]"]
    );
    assert_eq!(
        alter(&mut client, all, &[(key, SET, " 3000000 ")]).await.0,
        0
    );
    assert_eq!(alter(&mut client, one, &[(key, SET, "4000000")]).await.0, 0);
    assert_eq!(
        describe(&mut client, one, &[key]).await,
        ["log.segment.bytes=4000000 2 false [2, 3, 4, 5]"]
    );
    assert_eq!(alter(&mut client, one, &[(key, DELETE, "")]).await.0, 0);
    assert_eq!(
        describe(&mut client, one, &[key]).await,
        ["log.segment.bytes=3000000 3 false [3, 4, 5]"]
    );
    // Of all brokers only what was set for them is told; without keys that is everything.
    let rate = "leader.replication.throttled.rate";
    let unknown = [("no.such.key", SET, "secret"), (rate, SET, "9")];
    assert_eq!(alter(&mut client, all, &unknown).await.0, 0);
    assert_eq!(
        describe(&mut client, all, &[]).await,
        [
            "leader.replication.throttled.rate=9 3 false [3]",
            "log.segment.bytes=3000000 3 false [3]",
            "no.such.key=null 3 true [3]",
        ]
    );
    assert_eq!(
        describe(&mut client, one, &[rate, "node.id"]).await,
        [
            "node.id=1 4 true [4]",
            "leader.replication.throttled.rate=9 3 false [3]",
        ]
    );
}

#[tokio::test]
async fn groups_and_topics_keep_within_what_the_brokers_allow() {
    let server = testing::serve("").await;
    let mut client = Client::connect(&server).await;
    let timeout = [("consumer.session.timeout.ms", SET, "1")];
    assert_eq!(
        alter(&mut client, (GROUP, "g"), &timeout).await,
        (
            ErrorCode::InvalidConfig.code(),
            "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.".to_owned()
        )
    );
    assert_eq!(
        alter(&mut client, (TOPIC, ""), &[]).await.1,
        "Default topic resources are not allowed."
    );
    assert_eq!(
        alter(&mut client, (7, "x"), &[]).await.1,
        "Unknown resource type 7"
    );
}

#[tokio::test]
async fn loggers_are_told_and_refused_in_kafkas_words() {
    let server = testing::serve("").await;
    let mut client = Client::connect(&server).await;
    let this = (BROKER_LOGGER, "1");
    let told = describe(&mut client, this, &["root"]).await;
    assert_eq!(told.len(), 1, "{told:?}");
    let cases = [
        ("no.such", SET, "INFO", "Logger no.such does not exist!"),
        (
            "root",
            SET,
            "debug",
            "Cannot set the log level of root to debug as it is not a supported log level. Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
        ),
        (
            "root",
            APPEND,
            "INFO",
            "APPEND operation is not allowed for the BROKER_LOGGER resource",
        ),
        (
            "root",
            DELETE,
            "",
            "Removing the log level of the root logger is not allowed",
        ),
    ];
    for (logger, operation, level, message) in cases {
        let answer = alter(&mut client, this, &[(logger, operation, level)]).await;
        assert_eq!(answer.1, message);
    }
    assert_eq!(
        alter(&mut client, (BROKER_LOGGER, "2"), &[]).await.1,
        "Unexpected node id. Expected 1, but received 2"
    );
}
