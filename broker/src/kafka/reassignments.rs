//! `AlterPartitionReassignments` and `ListPartitionReassignments` (KIP-455).

mod alter;
mod list;
#[cfg(test)]
mod tests;
