//! `DescribeLogDirs` and `AlterReplicaLogDirs`: a broker has one data directory.

mod alter;
mod describe;
