//! Every message, one module per API key or record, and the table of API keys.
//!
//! Generated from `schema/` by `tests/it/codegen.rs`; edits are overwritten.

use crate::message::Versions;

pub mod add_offsets_to_txn;
pub mod add_partitions_to_txn;
pub mod add_raft_voter;
pub mod alter_client_quotas;
pub mod alter_configs;
pub mod alter_partition_reassignments;
pub mod alter_replica_log_dirs;
pub mod alter_share_group_offsets;
pub mod alter_user_scram_credentials;
pub mod api_versions;
pub mod consumer_group_describe;
pub mod consumer_group_heartbeat;
pub mod consumer_protocol_assignment;
pub mod consumer_protocol_subscription;
pub mod control_record_type_schema;
pub mod create_acls;
pub mod create_delegation_token;
pub mod create_partitions;
pub mod create_topics;
pub mod delete_acls;
pub mod delete_groups;
pub mod delete_records;
pub mod delete_share_group_offsets;
pub mod delete_topics;
pub mod describe_acls;
pub mod describe_client_quotas;
pub mod describe_cluster;
pub mod describe_configs;
pub mod describe_delegation_token;
pub mod describe_groups;
pub mod describe_log_dirs;
pub mod describe_producers;
pub mod describe_quorum;
pub mod describe_share_group_offsets;
pub mod describe_topic_partitions;
pub mod describe_transactions;
pub mod describe_user_scram_credentials;
pub mod elect_leaders;
pub mod end_txn;
pub mod end_txn_marker;
pub mod expire_delegation_token;
pub mod fetch;
pub mod find_coordinator;
pub mod get_telemetry_subscriptions;
pub mod group_metadata_record;
pub mod heartbeat;
pub mod incremental_alter_configs;
pub mod init_producer_id;
pub mod join_group;
pub mod leave_group;
pub mod legacy_offset_commit_record;
pub mod list_config_resources;
pub mod list_groups;
pub mod list_offsets;
pub mod list_partition_reassignments;
pub mod list_transactions;
pub mod metadata;
pub mod offset_commit;
pub mod offset_commit_record;
pub mod offset_delete;
pub mod offset_fetch;
pub mod offset_for_leader_epoch;
pub mod produce;
pub mod push_telemetry;
pub mod remove_raft_voter;
pub mod renew_delegation_token;
pub mod sasl_authenticate;
pub mod sasl_handshake;
pub mod share_acknowledge;
pub mod share_fetch;
pub mod share_group_describe;
pub mod share_group_heartbeat;
pub mod streams_group_describe;
pub mod streams_group_heartbeat;
pub mod streams_group_topology_description_update;
pub mod sync_group;
pub mod txn_offset_commit;
pub mod unregister_broker;
pub mod update_features;
pub mod write_txn_markers;

/// The APIs that clients and tools of Kafka 4.4 use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i16)]
pub enum ApiKey {
    Produce = 0,
    Fetch = 1,
    ListOffsets = 2,
    Metadata = 3,
    OffsetCommit = 8,
    OffsetFetch = 9,
    FindCoordinator = 10,
    JoinGroup = 11,
    Heartbeat = 12,
    LeaveGroup = 13,
    SyncGroup = 14,
    DescribeGroups = 15,
    ListGroups = 16,
    SaslHandshake = 17,
    ApiVersions = 18,
    CreateTopics = 19,
    DeleteTopics = 20,
    DeleteRecords = 21,
    InitProducerId = 22,
    OffsetForLeaderEpoch = 23,
    AddPartitionsToTxn = 24,
    AddOffsetsToTxn = 25,
    EndTxn = 26,
    WriteTxnMarkers = 27,
    TxnOffsetCommit = 28,
    DescribeAcls = 29,
    CreateAcls = 30,
    DeleteAcls = 31,
    DescribeConfigs = 32,
    AlterConfigs = 33,
    AlterReplicaLogDirs = 34,
    DescribeLogDirs = 35,
    SaslAuthenticate = 36,
    CreatePartitions = 37,
    CreateDelegationToken = 38,
    RenewDelegationToken = 39,
    ExpireDelegationToken = 40,
    DescribeDelegationToken = 41,
    DeleteGroups = 42,
    ElectLeaders = 43,
    IncrementalAlterConfigs = 44,
    AlterPartitionReassignments = 45,
    ListPartitionReassignments = 46,
    OffsetDelete = 47,
    DescribeClientQuotas = 48,
    AlterClientQuotas = 49,
    DescribeUserScramCredentials = 50,
    AlterUserScramCredentials = 51,
    DescribeQuorum = 55,
    UpdateFeatures = 57,
    DescribeCluster = 60,
    DescribeProducers = 61,
    UnregisterBroker = 64,
    DescribeTransactions = 65,
    ListTransactions = 66,
    ConsumerGroupHeartbeat = 68,
    ConsumerGroupDescribe = 69,
    GetTelemetrySubscriptions = 71,
    PushTelemetry = 72,
    ListConfigResources = 74,
    DescribeTopicPartitions = 75,
    ShareGroupHeartbeat = 76,
    ShareGroupDescribe = 77,
    ShareFetch = 78,
    ShareAcknowledge = 79,
    AddRaftVoter = 80,
    RemoveRaftVoter = 81,
    StreamsGroupHeartbeat = 88,
    StreamsGroupDescribe = 89,
    DescribeShareGroupOffsets = 90,
    AlterShareGroupOffsets = 91,
    DeleteShareGroupOffsets = 92,
    StreamsGroupTopologyDescriptionUpdate = 93,
}

/// What is known of one API.
struct Facts {
    versions: Versions,
    stable_max: i16,
    flexible_from: i16,
    flexible_response_header: i16,
}

impl Facts {
    const fn new(
        min: i16,
        max: i16,
        stable_max: i16,
        flexible_from: i16,
        flexible_response_header: i16,
    ) -> Self {
        Self {
            versions: Versions::new(min, max),
            stable_max,
            flexible_from,
            flexible_response_header,
        }
    }
}

impl ApiKey {
    pub const ALL: &[Self] = &[
        Self::Produce,
        Self::Fetch,
        Self::ListOffsets,
        Self::Metadata,
        Self::OffsetCommit,
        Self::OffsetFetch,
        Self::FindCoordinator,
        Self::JoinGroup,
        Self::Heartbeat,
        Self::LeaveGroup,
        Self::SyncGroup,
        Self::DescribeGroups,
        Self::ListGroups,
        Self::SaslHandshake,
        Self::ApiVersions,
        Self::CreateTopics,
        Self::DeleteTopics,
        Self::DeleteRecords,
        Self::InitProducerId,
        Self::OffsetForLeaderEpoch,
        Self::AddPartitionsToTxn,
        Self::AddOffsetsToTxn,
        Self::EndTxn,
        Self::WriteTxnMarkers,
        Self::TxnOffsetCommit,
        Self::DescribeAcls,
        Self::CreateAcls,
        Self::DeleteAcls,
        Self::DescribeConfigs,
        Self::AlterConfigs,
        Self::AlterReplicaLogDirs,
        Self::DescribeLogDirs,
        Self::SaslAuthenticate,
        Self::CreatePartitions,
        Self::CreateDelegationToken,
        Self::RenewDelegationToken,
        Self::ExpireDelegationToken,
        Self::DescribeDelegationToken,
        Self::DeleteGroups,
        Self::ElectLeaders,
        Self::IncrementalAlterConfigs,
        Self::AlterPartitionReassignments,
        Self::ListPartitionReassignments,
        Self::OffsetDelete,
        Self::DescribeClientQuotas,
        Self::AlterClientQuotas,
        Self::DescribeUserScramCredentials,
        Self::AlterUserScramCredentials,
        Self::DescribeQuorum,
        Self::UpdateFeatures,
        Self::DescribeCluster,
        Self::DescribeProducers,
        Self::UnregisterBroker,
        Self::DescribeTransactions,
        Self::ListTransactions,
        Self::ConsumerGroupHeartbeat,
        Self::ConsumerGroupDescribe,
        Self::GetTelemetrySubscriptions,
        Self::PushTelemetry,
        Self::ListConfigResources,
        Self::DescribeTopicPartitions,
        Self::ShareGroupHeartbeat,
        Self::ShareGroupDescribe,
        Self::ShareFetch,
        Self::ShareAcknowledge,
        Self::AddRaftVoter,
        Self::RemoveRaftVoter,
        Self::StreamsGroupHeartbeat,
        Self::StreamsGroupDescribe,
        Self::DescribeShareGroupOffsets,
        Self::AlterShareGroupOffsets,
        Self::DeleteShareGroupOffsets,
        Self::StreamsGroupTopologyDescriptionUpdate,
    ];

    pub const fn code(self) -> i16 {
        self as i16
    }

    pub const fn from_code(code: i16) -> Option<Self> {
        Some(match code {
            0 => Self::Produce,
            1 => Self::Fetch,
            2 => Self::ListOffsets,
            3 => Self::Metadata,
            8 => Self::OffsetCommit,
            9 => Self::OffsetFetch,
            10 => Self::FindCoordinator,
            11 => Self::JoinGroup,
            12 => Self::Heartbeat,
            13 => Self::LeaveGroup,
            14 => Self::SyncGroup,
            15 => Self::DescribeGroups,
            16 => Self::ListGroups,
            17 => Self::SaslHandshake,
            18 => Self::ApiVersions,
            19 => Self::CreateTopics,
            20 => Self::DeleteTopics,
            21 => Self::DeleteRecords,
            22 => Self::InitProducerId,
            23 => Self::OffsetForLeaderEpoch,
            24 => Self::AddPartitionsToTxn,
            25 => Self::AddOffsetsToTxn,
            26 => Self::EndTxn,
            27 => Self::WriteTxnMarkers,
            28 => Self::TxnOffsetCommit,
            29 => Self::DescribeAcls,
            30 => Self::CreateAcls,
            31 => Self::DeleteAcls,
            32 => Self::DescribeConfigs,
            33 => Self::AlterConfigs,
            34 => Self::AlterReplicaLogDirs,
            35 => Self::DescribeLogDirs,
            36 => Self::SaslAuthenticate,
            37 => Self::CreatePartitions,
            38 => Self::CreateDelegationToken,
            39 => Self::RenewDelegationToken,
            40 => Self::ExpireDelegationToken,
            41 => Self::DescribeDelegationToken,
            42 => Self::DeleteGroups,
            43 => Self::ElectLeaders,
            44 => Self::IncrementalAlterConfigs,
            45 => Self::AlterPartitionReassignments,
            46 => Self::ListPartitionReassignments,
            47 => Self::OffsetDelete,
            48 => Self::DescribeClientQuotas,
            49 => Self::AlterClientQuotas,
            50 => Self::DescribeUserScramCredentials,
            51 => Self::AlterUserScramCredentials,
            55 => Self::DescribeQuorum,
            57 => Self::UpdateFeatures,
            60 => Self::DescribeCluster,
            61 => Self::DescribeProducers,
            64 => Self::UnregisterBroker,
            65 => Self::DescribeTransactions,
            66 => Self::ListTransactions,
            68 => Self::ConsumerGroupHeartbeat,
            69 => Self::ConsumerGroupDescribe,
            71 => Self::GetTelemetrySubscriptions,
            72 => Self::PushTelemetry,
            74 => Self::ListConfigResources,
            75 => Self::DescribeTopicPartitions,
            76 => Self::ShareGroupHeartbeat,
            77 => Self::ShareGroupDescribe,
            78 => Self::ShareFetch,
            79 => Self::ShareAcknowledge,
            80 => Self::AddRaftVoter,
            81 => Self::RemoveRaftVoter,
            88 => Self::StreamsGroupHeartbeat,
            89 => Self::StreamsGroupDescribe,
            90 => Self::DescribeShareGroupOffsets,
            91 => Self::AlterShareGroupOffsets,
            92 => Self::DeleteShareGroupOffsets,
            93 => Self::StreamsGroupTopologyDescriptionUpdate,

            _ => return None,
        })
    }

    /// Versions that can be decoded; Kafka hides the ones that are not stable.
    pub const fn versions(self) -> Versions {
        self.facts().versions
    }

    /// Versions that Kafka 4.4 offers by default.
    pub const fn stable_versions(self) -> Versions {
        let facts = self.facts();
        Versions::new(facts.versions.min, facts.stable_max)
    }

    /// The version has compact lengths and tagged fields (KIP-482).
    pub const fn is_flexible(self, version: i16) -> bool {
        version >= self.facts().flexible_from
    }

    pub const fn request_header_version(self, version: i16) -> i16 {
        if self.is_flexible(version) { 2 } else { 1 }
    }

    /// 0 in every version of `ApiVersions`: its reply must be readable before versions are agreed.
    pub const fn response_header_version(self, version: i16) -> i16 {
        if self.is_flexible(version) {
            self.facts().flexible_response_header
        } else {
            0
        }
    }

    const fn facts(self) -> Facts {
        match self {
            Self::Produce => Facts::new(3, 13, 13, 9, 1),
            Self::Fetch => Facts::new(4, 18, 18, 12, 1),
            Self::ListOffsets => Facts::new(1, 11, 11, 6, 1),
            Self::Metadata => Facts::new(0, 13, 13, 9, 1),
            Self::OffsetCommit => Facts::new(2, 10, 10, 8, 1),
            Self::OffsetFetch => Facts::new(1, 10, 10, 6, 1),
            Self::FindCoordinator => Facts::new(0, 6, 6, 3, 1),
            Self::JoinGroup => Facts::new(0, 9, 9, 6, 1),
            Self::Heartbeat => Facts::new(0, 4, 4, 4, 1),
            Self::LeaveGroup => Facts::new(0, 5, 5, 4, 1),
            Self::SyncGroup => Facts::new(0, 5, 5, 4, 1),
            Self::DescribeGroups => Facts::new(0, 6, 6, 5, 1),
            Self::ListGroups => Facts::new(0, 5, 5, 3, 1),
            Self::SaslHandshake => Facts::new(0, 1, 1, i16::MAX, 1),
            Self::ApiVersions => Facts::new(0, 5, 5, 3, 0),
            Self::CreateTopics => Facts::new(2, 7, 7, 5, 1),
            Self::DeleteTopics => Facts::new(1, 6, 6, 4, 1),
            Self::DeleteRecords => Facts::new(0, 2, 2, 2, 1),
            Self::InitProducerId => Facts::new(0, 6, 5, 2, 1),
            Self::OffsetForLeaderEpoch => Facts::new(2, 4, 4, 4, 1),
            Self::AddPartitionsToTxn => Facts::new(0, 5, 5, 3, 1),
            Self::AddOffsetsToTxn => Facts::new(0, 4, 4, 3, 1),
            Self::EndTxn => Facts::new(0, 5, 5, 3, 1),
            Self::WriteTxnMarkers => Facts::new(1, 2, 2, 1, 1),
            Self::TxnOffsetCommit => Facts::new(0, 6, 6, 3, 1),
            Self::DescribeAcls => Facts::new(1, 3, 3, 2, 1),
            Self::CreateAcls => Facts::new(1, 3, 3, 2, 1),
            Self::DeleteAcls => Facts::new(1, 3, 3, 2, 1),
            Self::DescribeConfigs => Facts::new(1, 4, 4, 4, 1),
            Self::AlterConfigs => Facts::new(0, 2, 2, 2, 1),
            Self::AlterReplicaLogDirs => Facts::new(1, 2, 2, 2, 1),
            Self::DescribeLogDirs => Facts::new(1, 5, 5, 2, 1),
            Self::SaslAuthenticate => Facts::new(0, 2, 2, 2, 1),
            Self::CreatePartitions => Facts::new(0, 3, 3, 2, 1),
            Self::CreateDelegationToken => Facts::new(1, 3, 3, 2, 1),
            Self::RenewDelegationToken => Facts::new(1, 2, 2, 2, 1),
            Self::ExpireDelegationToken => Facts::new(1, 2, 2, 2, 1),
            Self::DescribeDelegationToken => Facts::new(1, 3, 3, 2, 1),
            Self::DeleteGroups => Facts::new(0, 3, 3, 2, 1),
            Self::ElectLeaders => Facts::new(0, 2, 2, 2, 1),
            Self::IncrementalAlterConfigs => Facts::new(0, 1, 1, 1, 1),
            Self::AlterPartitionReassignments => Facts::new(0, 1, 1, 0, 1),
            Self::ListPartitionReassignments => Facts::new(0, 0, 0, 0, 1),
            Self::OffsetDelete => Facts::new(0, 0, 0, i16::MAX, 1),
            Self::DescribeClientQuotas => Facts::new(0, 1, 1, 1, 1),
            Self::AlterClientQuotas => Facts::new(0, 1, 1, 1, 1),
            Self::DescribeUserScramCredentials => Facts::new(0, 0, 0, 0, 1),
            Self::AlterUserScramCredentials => Facts::new(0, 0, 0, 0, 1),
            Self::DescribeQuorum => Facts::new(0, 2, 2, 0, 1),
            Self::UpdateFeatures => Facts::new(0, 2, 2, 0, 1),
            Self::DescribeCluster => Facts::new(0, 2, 2, 0, 1),
            Self::DescribeProducers => Facts::new(0, 0, 0, 0, 1),
            Self::UnregisterBroker => Facts::new(0, 0, 0, 0, 1),
            Self::DescribeTransactions => Facts::new(0, 0, 0, 0, 1),
            Self::ListTransactions => Facts::new(0, 2, 2, 0, 1),
            Self::ConsumerGroupHeartbeat => Facts::new(0, 1, 1, 0, 1),
            Self::ConsumerGroupDescribe => Facts::new(0, 1, 1, 0, 1),
            Self::GetTelemetrySubscriptions => Facts::new(0, 0, 0, 0, 1),
            Self::PushTelemetry => Facts::new(0, 0, 0, 0, 1),
            Self::ListConfigResources => Facts::new(0, 1, 1, 0, 1),
            Self::DescribeTopicPartitions => Facts::new(0, 0, 0, 0, 1),
            Self::ShareGroupHeartbeat => Facts::new(1, 1, 1, 0, 1),
            Self::ShareGroupDescribe => Facts::new(1, 1, 1, 0, 1),
            Self::ShareFetch => Facts::new(1, 2, 2, 0, 1),
            Self::ShareAcknowledge => Facts::new(1, 2, 2, 0, 1),
            Self::AddRaftVoter => Facts::new(0, 1, 1, 0, 1),
            Self::RemoveRaftVoter => Facts::new(0, 0, 0, 0, 1),
            Self::StreamsGroupHeartbeat => Facts::new(0, 1, 1, 0, 1),
            Self::StreamsGroupDescribe => Facts::new(0, 1, 1, 0, 1),
            Self::DescribeShareGroupOffsets => Facts::new(0, 1, 1, 0, 1),
            Self::AlterShareGroupOffsets => Facts::new(0, 0, 0, 0, 1),
            Self::DeleteShareGroupOffsets => Facts::new(0, 0, 0, 0, 1),
            Self::StreamsGroupTopologyDescriptionUpdate => Facts::new(0, 0, 0, 0, 1),
        }
    }
}
