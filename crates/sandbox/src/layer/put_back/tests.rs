//! Layers that are changed in every way and put back, whole or cut short anywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};

use super::{OPAQUE, PutBack, Wanted};
use crate::layer::{Inventory, Kind, Special, Upper};

/// What a layer says of one path, its content included.
type Said = BTreeMap<Vec<u8>, (Kind, u32, bool, Vec<u8>)>;

struct Bench {
    root: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let upper = root.path().join("upper");
        fs::create_dir_all(upper.join("src/deep")).unwrap();
        fs::write(upper.join("src/lib.rs"), "one").unwrap();
        fs::write(upper.join("src/deep/kept.rs"), "kept").unwrap();
        fs::write(upper.join("run"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(upper.join("run"), Permissions::from_mode(0o4755)).unwrap();
        symlink("../../etc/passwd", upper.join("link")).unwrap();
        fs::create_dir_all(upper.join("again/closed")).unwrap();
        fs::write(upper.join("again/closed/x"), "x").unwrap();
        fs::set_permissions(upper.join("again/closed"), Permissions::from_mode(0o555)).unwrap();
        setxattr(upper.join("again"), OPAQUE, b"y", XattrFlags::empty()).unwrap();
        fs::write(upper.join(std::ffi::OsStr::from_bytes(b"odd\xff%")), "odd").unwrap();
        node(&upper.join("gone"), FileType::CharacterDevice);
        node(&upper.join("src/gone"), FileType::CharacterDevice);
        node(&upper.join("pipe"), FileType::Fifo);
        fs::create_dir_all(upper.join("target/debug")).unwrap();
        Self { root }
    }

    fn upper(&self) -> PathBuf {
        self.root.path().join("upper")
    }

    fn inventory(&self) -> Inventory {
        let upper = Upper::open(self.root.path()).unwrap();
        upper.inventory(1000, &mut |path| path == b"target").unwrap()
    }

    fn says(&self) -> Said {
        let upper = Upper::open(self.root.path()).unwrap();
        let content = |path: &[u8], kind: Kind| match kind {
            Kind::File => {
                let mut bytes = Vec::new();
                upper.file(path).unwrap().0.read_to_end(&mut bytes).unwrap();
                bytes
            }
            Kind::Link => upper.target(path).unwrap(),
            Kind::Directory | Kind::Whiteout | Kind::Special(_) => Vec::new(),
        };
        let found = self.inventory().entries.into_iter().map(|(path, lying)| {
            assert_eq!(lying.reason, None, "{path:?}");
            let said = (lying.entry.kind, lying.entry.mode, lying.opaque, content(&path, lying.entry.kind));
            (path, said)
        });
        found.collect()
    }

    /// What is wanted for the layer to say this again: nothing kept, everything made anew.
    fn ready(back: &PutBack, said: &Said) -> BTreeMap<Vec<u8>, Wanted> {
        let wanted = said.iter().zip(0..).map(|((path, (kind, mode, opaque, content)), number)| {
            let wanted = match kind {
                Kind::File => {
                    back.make_ready(number, content, *mode).unwrap();
                    Wanted::Ready(number)
                }
                Kind::Directory => Wanted::Directory { mode: *mode, opaque: *opaque },
                Kind::Link => Wanted::Link(content.clone()),
                Kind::Whiteout => Wanted::Whiteout,
                Kind::Special(Special::Fifo) => Wanted::Pipe(*mode),
                Kind::Special(Special::Socket) => Wanted::Socket(*mode),
                Kind::Special(Special::Device) => panic!("a device"),
            };
            (path.clone(), wanted)
        });
        wanted.collect()
    }

    fn put_back(&self, said: &Said) {
        let back = PutBack::begin(self.root.path()).unwrap();
        let wanted = Self::ready(&back, said);
        back.carry_out(&wanted, &BTreeSet::from([b"target".to_vec()])).unwrap();
        assert!(!self.root.path().join("back").exists());
    }

    /// Everything that a session may do to a layer.
    fn spoil(&self) {
        let upper = self.upper();
        fs::write(upper.join("src/lib.rs"), "two").unwrap();
        fs::remove_dir_all(upper.join("src/deep")).unwrap();
        fs::write(upper.join("src/deep"), "a file now").unwrap();
        fs::remove_file(upper.join("src/gone")).unwrap();
        fs::create_dir_all(upper.join("src/gone/in/the/way")).unwrap();
        fs::set_permissions(upper.join("run"), Permissions::from_mode(0o600)).unwrap();
        fs::remove_file(upper.join("link")).unwrap();
        symlink("/", upper.join("link")).unwrap();
        symlink("/tmp", upper.join("out")).unwrap();
        fs::set_permissions(upper.join("again"), Permissions::from_mode(0o000)).unwrap();
        fs::remove_file(upper.join("gone")).unwrap();
        fs::remove_file(upper.join("pipe")).unwrap();
        fs::create_dir_all(upper.join("new/closed")).unwrap();
        fs::write(upper.join("new/closed/x"), "x").unwrap();
        fs::set_permissions(upper.join("new/closed"), Permissions::from_mode(0o000)).unwrap();
        fs::write(upper.join("target/debug/built"), "b").unwrap();
        node(&upper.join("new/whiteout"), FileType::CharacterDevice);
    }
}

fn node(path: &Path, kind: FileType) {
    let mode = if kind == FileType::Fifo { 0o600 } else { 0 };
    mknodat(CWD, path, kind, Mode::from_raw_mode(mode), 0).unwrap();
}

#[test]
fn a_layer_says_again_what_it_said_and_what_is_spared_stays() {
    let bench = Bench::new();
    let said = bench.says();
    bench.spoil();
    bench.put_back(&said);
    assert_eq!(bench.says(), said);
    assert!(bench.upper().join("target/debug/built").exists());
    bench.put_back(&said);
    assert_eq!(bench.says(), said, "once more changes nothing");
}

#[test]
fn cut_short_anywhere_the_same_order_leads_to_the_same_layer() {
    let all = Bench::new().says().len();
    for done in 0..=all {
        let bench = Bench::new();
        let said = bench.says();
        bench.spoil();
        let back = PutBack::begin(bench.root.path()).unwrap();
        let wanted = Bench::ready(&back, &said);
        back.clear(&wanted, &BTreeSet::from([b"target".to_vec()])).unwrap();
        for (path, wanted) in wanted.iter().skip(1).take(done) {
            back.put(path, wanted).unwrap();
        }
        drop(back);
        bench.put_back(&said);
        assert_eq!(bench.says(), said, "after {done} of {all}");
    }
}

#[test]
fn what_is_kept_is_not_touched_and_an_open_layer_is_refused() {
    let bench = Bench::new();
    let said = bench.says();
    let before = bench.inventory();
    let back = PutBack::begin(bench.root.path()).unwrap();
    let wanted = Bench::ready(&back, &said).into_iter().map(|(path, wanted)| match wanted {
        Wanted::Directory { .. } => (path, wanted),
        _ => (path, Wanted::Kept),
    });
    back.carry_out(&wanted.collect(), &BTreeSet::from([b"target".to_vec()])).unwrap();
    let now = bench.inventory();
    for (path, lying) in &before.entries {
        let same = lying.entry.kind == Kind::Directory || now.entries[path] == *lying;
        assert!(same, "{}", String::from_utf8_lossy(path));
    }
    let held = PutBack::begin(bench.root.path()).unwrap();
    assert!(PutBack::begin(bench.root.path()).is_err(), "another one holds the layer");
    drop(held);
}

#[test]
fn a_mark_of_another_meaning_and_a_closed_folder_are_named() {
    let bench = Bench::new();
    let marked = bench.upper().join("src");
    setxattr(&marked, "user.overlay.redirect", b"/x", XattrFlags::empty()).unwrap();
    let found = bench.inventory();
    assert!(found.entries[&b"src".to_vec()].reason.is_some());
    assert!(!found.entries.contains_key(b"src/lib.rs".as_slice()), "it is not entered");
    assert_eq!(found.left_out, [b"target".to_vec()]);
    let upper = Upper::open(bench.root.path()).unwrap();
    assert!(upper.inventory(3, &mut |_| false).is_err(), "more than may be looked at");
}
