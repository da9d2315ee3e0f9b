#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

mod cutting;
mod large;
mod reading;
mod retention;
mod rolling;
mod steps;
mod syncing;

use std::{path::Path, sync::Arc};

use bytes::Bytes;
use model::{
    Epoch, Offset,
    batch::{self, Batch, Builder},
};
use proptest::prelude::*;

use super::*;
use crate::{Budget, Descriptors, Resources, Shutdown};

/// One record a batch: offset, timestamp and value can be told from the outside.
pub(crate) fn one(offset: i64, epoch: i32, timestamp: i64) -> Bytes {
    many(offset, epoch, timestamp, 1)
}

pub(crate) fn many(offset: i64, epoch: i32, timestamp: i64, records: i64) -> Bytes {
    let mut b = Builder::new(Offset(offset)).leader_epoch(Epoch(epoch));
    for i in 0..records {
        b.push(
            timestamp,
            None,
            Some(format!("value-{:04}", offset + i).as_bytes()),
        );
    }
    b.build().unwrap()
}

fn small() -> Config {
    Config {
        segment_bytes: 400,
        index_interval_bytes: 100,
        ..Config::default()
    }
}

fn open(dir: &Path, config: Config) -> Log {
    Log::open(dir, config).unwrap().0
}

fn filled(dir: &Path, config: Config, n: i64) -> Log {
    let mut log = open(dir, config);
    for i in 0..n {
        log.append(&[one(i, 0, 1000 + i)]).unwrap();
    }
    log
}

fn offsets(runs: Vec<Bytes>) -> Vec<i64> {
    runs.into_iter()
        .flat_map(|run| batch::split(run).unwrap())
        .flat_map(|b| b.records().map(|r| r.unwrap().offset.0).collect::<Vec<_>>())
        .collect()
}

fn segment_files(dir: &Path) -> usize {
    std::fs::read_dir(dir)
        .unwrap()
        .filter(|e| {
            let name = e.as_ref().unwrap().file_name();
            files::segment_base(name.to_str().unwrap()).is_some()
        })
        .count()
}
