use super::*;

fn open(path: &Path, brokers: Option<u16>) -> Result<DataDir, Error> {
    DataDir::open(path, brokers, 3, || "id-1".to_owned())
}

fn kept(path: &Path, brokers: Option<u16>) -> DataDir {
    let dir = open(path, brokers).unwrap();
    dir.keep().unwrap();
    dir
}

#[test]
fn cluster_is_found_again_with_its_identity_and_size() {
    let dir = tempfile::tempdir().unwrap();
    let first = kept(&dir.path().join("d"), Some(2));
    assert!(first.fresh);
    drop(first);
    let again = DataDir::open(&dir.path().join("d"), None, 3, || "id-2".to_owned()).unwrap();
    assert!(!again.fresh);
    assert_eq!(
        (again.cluster.id.as_str(), again.cluster.brokers),
        ("id-1", 2)
    );
    assert_eq!(again.cluster.voters, 1);
}

#[test]
fn second_holder_is_refused_until_the_first_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let first = kept(dir.path(), None);
    assert!(matches!(open(dir.path(), None), Err(Error::InUse { .. })));
    drop(first);
    open(dir.path(), None).unwrap();
}

#[test]
fn corrupt_identity_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    drop(kept(dir.path(), None));
    let marker = dir.path().join("cluster.json");
    fs::write(&marker, b"{\"format\":1,").unwrap();
    let error = open(dir.path(), None).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    assert_eq!(fs::read(&marker).unwrap(), b"{\"format\":1,");
}

#[test]
fn directory_of_something_else_is_not_taken() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("thesis.txt"), b"x").unwrap();
    let error = open(dir.path(), None).unwrap_err();
    assert!(matches!(error, Error::Foreign { .. }), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn cluster_grows_but_does_not_shrink() {
    let dir = tempfile::tempdir().unwrap();
    drop(kept(dir.path(), Some(3)));
    let grown = kept(dir.path(), Some(5));
    assert_eq!((grown.cluster.brokers, grown.cluster.voters), (5, 3));
    drop(grown);
    let error = open(dir.path(), Some(3)).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Shrinks {
                kept: 5,
                asked: 3,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn refused_first_start_leaves_nothing_decided() {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path(), Some(1)).unwrap());
    let second = open(dir.path(), Some(3)).unwrap();
    assert!(second.fresh);
    assert_eq!(second.cluster.voters, 3);
}
