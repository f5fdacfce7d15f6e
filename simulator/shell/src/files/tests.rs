use super::*;

#[tokio::test]
async fn a_volume_is_shared_by_the_machines_that_mount_it() {
    let volume = Arc::new(Files::volume(4_096));
    let (one, other) = (Files::new(4_096), Files::new(4_096));
    one.attach("/data", volume.clone(), false).unwrap();
    other.attach("/cache/shared", volume.clone(), true).unwrap();
    let changed = other.changed();
    one.write("/data/a", b"x", false).unwrap();
    changed.await;
    assert_eq!(other.read("/cache/shared/a").unwrap(), "x");
    assert_eq!(other.list("/cache/shared").unwrap(), ["a"]);
    assert_eq!(other.write("/cache/shared/a", b"y", false), Err(FileError::ReadOnly));
    assert_eq!(one.read("/database"), Err(FileError::NotFound));
    let files = BTreeMap::from([("b/c".to_owned(), (b"1".to_vec(), 0o600))]);
    volume.replace(&files).unwrap();
    assert_eq!(
        (one.list("/data").unwrap(), one.mode("/data/b/c")),
        (vec!["b".to_owned()], Some(0o600))
    );
}

#[test]
fn paths_are_resolved_without_leaving_the_root() {
    assert_eq!(absolute("/tmp", "a/./b/../c"), "/tmp/a/c");
    assert_eq!(absolute("/tmp", "../../../x"), "/x");
    assert_eq!(absolute("/tmp", "/etc//hosts"), "/etc/hosts");
}

#[test]
fn a_write_beyond_the_limit_fails_and_changes_nothing() {
    let files = Files::new(4_096);
    files.write("/tmp/a", &[b'x'; 4_000], false).unwrap();
    assert_eq!(files.write("/tmp/a", &[b'x'; 4_000], true), Err(FileError::Full));
    assert_eq!(files.write("/tmp/b", &[b'x'; 4_000], false), Err(FileError::Full));
    assert_eq!(files.read("/tmp/a").unwrap().len(), 4_000);
    files.remove("/tmp/a", false).unwrap();
    files.write("/tmp/b", &[b'x'; 4_000], false).unwrap();
}

#[test]
fn a_mounted_file_is_read_only() {
    let files = Files::new(1 << 20);
    files.mount("/etc/config/colour", "blue", true).unwrap();
    assert_eq!(files.read("/etc/config/colour").unwrap(), "blue");
    assert_eq!(
        files.write("/etc/config/colour", b"red", false),
        Err(FileError::ReadOnly)
    );
    assert_eq!(files.remove("/etc", true), Err(FileError::ReadOnly));
    assert_eq!(files.list("/etc/config").unwrap(), ["colour"]);
    assert_eq!(files.list("/etc").unwrap(), ["config"]);
}
