//! The one place where inner errors become Kafka's error codes. Clients act on the codes, so each
//! says here why it was chosen where that is not plain.

use kafka_wire::ErrorCode;
use machine::group;
use machine::metadata::command::Refusal;

use crate::coordinator;
use crate::metadata::{Unavailable, VoterRefusal};
use crate::partition::{AppendError, DeleteError, ReadError};

pub(crate) fn append(error: &AppendError) -> ErrorCode {
    match error {
        // The client looks for another leader, and finds it where there is one.
        AppendError::NotLeader { .. } | AppendError::CutOff | AppendError::Stopping => {
            ErrorCode::NotLeaderOrFollower
        }
        AppendError::NotOneBatch(_) | AppendError::InvalidRecord { .. } => ErrorCode::InvalidRecord,
        AppendError::CorruptMessage => ErrorCode::CorruptMessage,
        AppendError::MessageTooLarge { .. } => ErrorCode::MessageTooLarge,
        AppendError::RecordListTooLarge { .. } => ErrorCode::RecordListTooLarge,
        AppendError::InvalidTimestamp { .. } | AppendError::DeliveryTooFar { .. } => {
            ErrorCode::InvalidTimestamp
        }
        // Kafka answers -1 for an unknown codec; clients can do nothing with that.
        AppendError::UnsupportedCompression(_) => ErrorCode::InvalidRecord,
        AppendError::NotEnoughReplicas { .. } => ErrorCode::NotEnoughReplicas,
        AppendError::Timeout => ErrorCode::RequestTimedOut,
        AppendError::OutOfOrderSequence { .. } => ErrorCode::OutOfOrderSequenceNumber,
        // Never PRODUCER_FENCED on produce (KIP-588).
        AppendError::InvalidProducerEpoch { .. } => ErrorCode::InvalidProducerEpoch,
        AppendError::Storage(_) => ErrorCode::KafkaStorageError,
    }
}

/// Only codes that every client's fetcher knows.
pub(crate) fn read(error: &ReadError) -> ErrorCode {
    match error {
        ReadError::NotLeader { .. } => ErrorCode::NotLeaderOrFollower,
        ReadError::OffsetOutOfRange { .. } => ErrorCode::OffsetOutOfRange,
        ReadError::FencedEpoch(_) => ErrorCode::FencedLeaderEpoch,
        ReadError::UnknownEpoch(_) => ErrorCode::UnknownLeaderEpoch,
        ReadError::NotAvailable => ErrorCode::OffsetNotAvailable,
        ReadError::Storage(_) | ReadError::Damaged { .. } => ErrorCode::KafkaStorageError,
    }
}

pub(crate) fn delete(error: &DeleteError) -> ErrorCode {
    match error {
        DeleteError::NotLeader { .. } | DeleteError::Stopping => ErrorCode::NotLeaderOrFollower,
        DeleteError::OffsetOutOfRange { .. } => ErrorCode::OffsetOutOfRange,
        DeleteError::Storage(_) => ErrorCode::KafkaStorageError,
    }
}

/// No majority took the command: admin clients repeat on a timeout, and it may have been done.
pub(crate) fn unavailable(_: Unavailable) -> ErrorCode {
    ErrorCode::RequestTimedOut
}

pub(crate) fn refusal(refusal: &Refusal) -> ErrorCode {
    match refusal {
        Refusal::TopicExists(_) => ErrorCode::TopicAlreadyExists,
        Refusal::UnknownTopic | Refusal::UnknownPartition => ErrorCode::UnknownTopicOrPartition,
        Refusal::InvalidPartitions(_) => ErrorCode::InvalidPartitions,
        Refusal::TooManyPartitions => ErrorCode::PolicyViolation,
        Refusal::InvalidReplicationFactor(_) => ErrorCode::InvalidReplicationFactor,
        Refusal::InvalidReplicaAssignment(_) => ErrorCode::InvalidReplicaAssignment,
        Refusal::InvalidTopicName(_) => ErrorCode::InvalidTopicException,
        Refusal::InvalidConfig(_) => ErrorCode::InvalidConfig,
        Refusal::FencedLeaderEpoch => ErrorCode::FencedLeaderEpoch,
        Refusal::StalePartitionEpoch => ErrorCode::InvalidUpdateVersion,
        Refusal::IneligibleReplica => ErrorCode::IneligibleReplica,
        Refusal::StaleBrokerEpoch => ErrorCode::StaleBrokerEpoch,
        Refusal::NoReassignmentInProgress => ErrorCode::NoReassignmentInProgress,
        Refusal::BrokerNotRegistered(_) => ErrorCode::BrokerIdNotRegistered,
        Refusal::LevelTooLow { .. } | Refusal::LevelNotSupported { .. } => {
            ErrorCode::UnsupportedVersion
        }
        // AMQP's own: no command of this front meets them.
        _ => ErrorCode::UnknownServerError,
    }
}

/// Kafka's, where it has the case.
pub(crate) fn voter(refusal: &VoterRefusal) -> ErrorCode {
    match refusal {
        VoterRefusal::Duplicate(..) => ErrorCode::DuplicateVoter,
        VoterRefusal::NotFound(..) => ErrorCode::VoterNotFound,
        VoterRefusal::Unknown(_) | VoterRefusal::NoCandidate(_) => ErrorCode::InvalidRequest,
        VoterRefusal::TimedOut(_) => ErrorCode::RequestTimedOut,
    }
}

pub(crate) fn coordinator(unavailable: &coordinator::Unavailable) -> ErrorCode {
    match unavailable {
        coordinator::Unavailable::Loading => ErrorCode::CoordinatorLoadInProgress,
        coordinator::Unavailable::NotCoordinator => ErrorCode::NotCoordinator,
        coordinator::Unavailable::NotAvailable => ErrorCode::CoordinatorNotAvailable,
    }
}

pub(crate) fn group(error: &group::Error) -> ErrorCode {
    match error {
        group::Error::InvalidGroupId => ErrorCode::InvalidGroupId,
        group::Error::InvalidSessionTimeout => ErrorCode::InvalidSessionTimeout,
        group::Error::InconsistentProtocol => ErrorCode::InconsistentGroupProtocol,
        group::Error::UnknownMember => ErrorCode::UnknownMemberId,
        group::Error::MemberIdRequired(_) => ErrorCode::MemberIdRequired,
        group::Error::FencedInstance => ErrorCode::FencedInstanceId,
        group::Error::GroupFull => ErrorCode::GroupMaxSizeReached,
        group::Error::IllegalGeneration => ErrorCode::IllegalGeneration,
        group::Error::RebalanceInProgress => ErrorCode::RebalanceInProgress,
        group::Error::GroupNotFound => ErrorCode::GroupIdNotFound,
        group::Error::NonEmptyGroup => ErrorCode::NonEmptyGroup,
        group::Error::SubscribedToTopic => ErrorCode::GroupSubscribedToTopic,
        group::Error::OffsetMetadataTooLarge => ErrorCode::OffsetMetadataTooLarge,
    }
}
