use machine::metadata::command::{Refusal, Reply};

use super::{Verdict, verdict};
use crate::metadata::Unavailable;

#[test]
fn a_proposal_of_unknown_outcome_is_not_taken_for_refused() {
    assert_eq!(verdict(Err(Unavailable)), Verdict::Unknown);
    for refusal in [Refusal::StalePartitionEpoch, Refusal::FencedLeaderEpoch] {
        assert_eq!(verdict(Ok(Reply::Refused(refusal))), Verdict::Settled);
    }
    let refusal = Refusal::IneligibleReplica;
    let refused = Verdict::Refused(refusal.to_string());
    assert_eq!(verdict(Ok(Reply::Refused(refusal))), refused);
    assert_eq!(verdict(Ok(Reply::PartitionEpoch(3))), Verdict::Settled);
}
