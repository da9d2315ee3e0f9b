//! openraft's own suite over our storage.

use std::io::{self, Read, Write};
use std::sync::Arc;

use bytes::Bytes;
use model::BrokerId;
use openraft::StorageError;
use openraft::testing::log::{StoreBuilder, Suite};
use tempfile::TempDir;

use super::super::applier::{Applier, Parts};
use super::super::halt::Halt;
use super::super::snapshot::Shelf;
use super::super::types::TypeConfig;
use super::super::wal::{self, Wal};
use super::super::{Entry, GroupId, Snapshot, StateMachine, UnknownCommand};
use super::Store;

struct Nothing;

impl StateMachine for Nothing {
    fn apply(&mut self, entry: &Entry) -> Result<Vec<Bytes>, UnknownCommand> {
        Ok(entry.commands.clone())
    }

    fn leadership(&mut self, _leading: bool, _term: u64) {}

    fn snapshot(&self) -> Snapshot {
        Box::new(|out: &mut dyn Write| out.write_all(b"nothing"))
    }

    fn restore(&mut self, snapshot: &mut dyn Read) -> io::Result<()> {
        let mut state = String::new();
        snapshot.read_to_string(&mut state)?;
        assert_eq!(state, "nothing");
        Ok(())
    }
}

struct Fresh;

impl StoreBuilder<TypeConfig, Store, Applier, TempDir> for Fresh {
    async fn build(&self) -> Result<(TempDir, Store, Applier), StorageError<TypeConfig>> {
        let dir = tempfile::tempdir().expect("temporary directory");
        let config = wal::Config {
            file_bytes: 1 << 20,
            files_max: 2,
            waiting_bytes_max: 1 << 20,
        };
        let (wal, _thread) = Wal::open(&dir.path().join("wal"), config, ()).expect("opens");
        let store = Store::open(GroupId(3), wal);
        let shelf = Arc::new(Shelf::open(&dir.path().join("snapshots")).expect("opens"));
        let parts = Parts {
            group: GroupId(3),
            this: BrokerId(0),
            log: Arc::clone(store.log()),
            shelf,
            halt: Halt::default(),
        };
        let applier = Applier::open(parts, Box::new(Nothing)).expect("opens");
        Ok((dir, store, applier))
    }
}

#[tokio::test]
async fn the_storage_passes_the_suite_of_the_raft_library() {
    Suite::test_all(Fresh).await.expect("suite");
}
