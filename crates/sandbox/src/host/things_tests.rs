//! Trees that travel, and streams that lie.
use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

const ALL: Bounds = Bounds { bytes: 1 << 30, git: true };

/// A stream of what `send` says, laid into a folder.
fn laid(bounds: Bounds, send: impl FnOnce(&mut Sender<'_>)) -> (tempfile::TempDir, Result<u64, LayError>) {
    let dir = tempfile::tempdir().unwrap();
    let mut stream = Vec::new();
    let mut sender = Sender::new(&mut stream);
    send(&mut sender);
    sender.end().unwrap();
    let result = lay(&mut stream.as_slice(), &dir.path().join("into"), bounds);
    (dir, result)
}

fn root(sender: &mut Sender<'_>) {
    sender.plain(b"", Sort::Directory, 0o755).unwrap();
}

#[test]
fn a_layer_arrives_as_it_lay() {
    let from = tempfile::tempdir().unwrap();
    let upper = from.path().join("upper");
    fs::create_dir_all(upper.join("deep/er")).unwrap();
    let big: Vec<u8> = (0..3 * CHUNK).map(|at| u8::try_from(at % 251).unwrap()).collect();
    for (name, content) in [("empty", &b""[..]), ("exact", &big[..CHUNK]), ("deep/er/big", &big)] {
        fs::write(upper.join(name), content).unwrap();
    }
    fs::set_permissions(upper.join("exact"), fs::Permissions::from_mode(0o4755)).unwrap();
    symlink("../../etc/passwd", upper.join("link")).unwrap();
    let device = rustix::fs::FileType::CharacterDevice;
    rustix::fs::mknodat(rustix::fs::CWD, upper.join("gone"), device, rustix::fs::Mode::empty(), 0).unwrap();
    let mut stream = Vec::new();
    send_layer(from.path(), &mut stream).unwrap();
    let to = tempfile::tempdir().unwrap();
    fs::create_dir_all(to.path().join("upper/old/stuff")).unwrap();
    lay(&mut stream.as_slice(), to.path(), ALL).unwrap();
    let listed = |layer: &Path| -> Vec<_> {
        let found = Upper::open(layer).unwrap().inventory(100, &mut |_| false).unwrap();
        let facts = |(path, lying): (&Vec<u8>, &crate::layer::Lying)| {
            let size = if lying.entry.kind == Kind::Directory { 0 } else { lying.entry.size };
            (path.clone(), lying.entry.kind, lying.entry.mode, size, lying.opaque)
        };
        found.entries.iter().map(facts).collect()
    };
    assert_eq!(listed(from.path()), listed(to.path()));
    assert_eq!(fs::read(to.path().join("upper/deep/er/big")).unwrap(), big);
    assert_eq!(fs::read(to.path().join("upper/exact")).unwrap(), &big[..CHUNK]);
    assert_eq!(fs::read_link(to.path().join("upper/link")).unwrap(), Path::new("../../etc/passwd"));
}

#[test]
fn what_leads_out_or_is_out_of_order_is_refused_and_nothing_is_laid() {
    type Send = fn(&mut Sender<'_>) -> io::Result<()>;
    let bad: [(&str, Send); 9] = [
        ("a parent", |s| s.file(b"../x", 0o644, &mut &b"x"[..])),
        ("an absolute path", |s| s.file(b"/etc/x", 0o644, &mut &b"x"[..])),
        ("a dot", |s| s.file(b"./x", 0o644, &mut &b"x"[..])),
        ("no directory", |s| s.file(b"a/b", 0o644, &mut &b"x"[..])),
        ("through a link", |s| {
            s.link(b"out", b"/tmp")?;
            s.file(b"out/x", 0o644, &mut &b"x"[..])
        }),
        ("twice", |s| {
            s.file(b"x", 0o644, &mut &b"x"[..])?;
            s.link(b"x", b"/etc")
        }),
        ("git", |s| {
            s.plain(b"sub.d", Sort::Directory, 0o755).and(s.plain(b"sub.d/.GIT", Sort::Directory, 0o755))
        }),
        ("a link to nothing", |s| s.link(b"x", b"")),
        ("a root again", |s| s.plain(b"", Sort::Directory, 0o755)),
    ];
    for (what, send) in bad {
        let (dir, result) = laid(Bounds { bytes: 1 << 20, git: false }, |sender| {
            root(sender);
            sender.file(b"kept", 0o644, &mut &b"kept"[..]).unwrap();
            send(sender).unwrap();
        });
        assert!(matches!(result, Err(LayError::Came(_))), "{what}: {result:?}");
        assert!(!dir.path().join("into/upper/kept").exists(), "{what}");
    }
}

#[test]
fn more_than_was_agreed_ends_the_stream() {
    let send = |sender: &mut Sender<'_>| {
        root(sender);
        sender.file(b"a", 0o644, &mut io::repeat(7).take(600_000)).unwrap();
        sender.file(b"b", 0o644, &mut io::repeat(7).take(600_000)).unwrap();
    };
    assert!(laid(Bounds { bytes: 1_200_000, git: true }, send).1.is_ok());
    assert!(laid(Bounds { bytes: 1_199_999, git: true }, send).1.is_err());
}

#[test]
fn a_stream_that_is_cut_anywhere_changes_nothing() {
    let mut stream = Vec::new();
    let mut sender = Sender::new(&mut stream);
    root(&mut sender);
    sender.file(b"a", 0o644, &mut &b"new"[..]).unwrap();
    sender.plain(b"d", Sort::Directory, 0o755).unwrap();
    sender.end().unwrap();
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("upper")).unwrap();
    fs::write(dir.path().join("upper/a"), "old").unwrap();
    for length in 0..stream.len() {
        assert!(lay(&mut &stream[..length], dir.path(), ALL).is_err(), "cut at {length}");
        assert_eq!(fs::read(dir.path().join("upper/a")).unwrap(), b"old");
    }
    lay(&mut stream.as_slice(), dir.path(), ALL).unwrap();
    assert_eq!(fs::read(dir.path().join("upper/a")).unwrap(), b"new");
}
