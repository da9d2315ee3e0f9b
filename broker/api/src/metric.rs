//! Names of the metrics that alert rules and dashboards read. A rule and the code that counts use
//! the same constant's text, so a rename is a change here.
//!
//! Counters are named without `_total`: the exporter appends it.

/// Gauge, records. Labels `group`, `topic`, `partition`.
pub const GROUP_LAG_RECORDS: &str = "millrace_group_lag_records";
/// Gauge, seconds: age of the first record not committed yet, by the broker's append time. Absent
/// when the group never committed on the partition. Labels `group`, `topic`, `partition`.
pub const GROUP_LAG_SECONDS: &str = "millrace_group_lag_seconds";
/// Gauge, seconds: the same, of the topic's worst partition. Labels `group`, `topic`.
pub const GROUP_LAG_SECONDS_MAX: &str = "millrace_group_lag_seconds_max";
/// Gauge: partitions that members of the group read and on which it has committed nothing: they have no
/// lag series. Labels `group`.
pub const GROUP_PARTITIONS_UNCOMMITTED: &str = "millrace_group_partitions_uncommitted";
/// Gauge. Labels `group`.
pub const GROUP_MEMBERS: &str = "millrace_group_members";

/// Gauge: partitions this broker leads whose ISR is smaller than their replica set.
pub const PARTITIONS_UNDER_REPLICATED: &str = "millrace_partitions_under_replicated";
/// Gauge: partitions this broker leads whose ISR is below `min.insync.replicas`.
pub const PARTITIONS_UNDER_MIN_ISR: &str = "millrace_partitions_under_min_isr";
/// Gauge: partitions of the cluster without a leader, as this broker's metadata shows it.
pub const PARTITIONS_OFFLINE: &str = "millrace_partitions_offline";
/// Gauge: 1 on the broker that leads the metadata group.
pub const CONTROLLER_ACTIVE: &str = "millrace_controller_active";
/// Gauge: 1 while the broker is known to the metadata group and not fenced. Labels `broker`.
pub const BROKER_UNFENCED: &str = "millrace_broker_unfenced";
/// Counter: records appended to a topic. Labels `topic`.
pub const TOPIC_RECORDS: &str = "millrace_topic_records";
/// Counter: records appended to a dead-letter topic, told by each partition's leader. Labels `topic`,
/// `partition`.
pub const DEAD_LETTER_TOPIC_RECORDS: &str = "millrace_dead_letter_topic_records";
/// Counter: messages a queue dead-lettered. Labels `vhost`, `queue`, `reason`.
pub const DEAD_LETTER_QUEUE_MESSAGES: &str = "millrace_dead_letter_queue_messages";

/// Gauge, messages. Labels `vhost`, `queue`.
pub const QUEUE_READY: &str = "millrace_queue_ready";
/// Gauge, messages. Labels `vhost`, `queue`.
pub const QUEUE_UNACKED: &str = "millrace_queue_unacked";
/// Gauge. Labels `vhost`, `queue`.
pub const QUEUE_CONSUMERS: &str = "millrace_queue_consumers";

/// Gauge, bytes of the file system that holds `log.dirs`.
pub const DISK_TOTAL_BYTES: &str = "millrace_disk_total_bytes";
/// Gauge, bytes.
pub const DISK_FREE_BYTES: &str = "millrace_disk_free_bytes";
