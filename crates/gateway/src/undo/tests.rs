//! Moments of a layer that is changed at random, kept and gone back to.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use enclos_core::ids::{CallId, SessionId};
use enclos_store::{Lease, NoRedaction, SessionMeta, Store};
use proptest::prelude::*;

use super::back::{self, Refusal};
use super::keeper::{Keeper, Kept};
use crate::repo::Repo;

/// A session with a layer over a small tree.
struct Bench {
    dir: tempfile::TempDir,
    lease: Lease,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("state"), std::sync::Arc::new(NoRedaction)).unwrap();
        let meta = SessionMeta {
            task: String::new(),
            repo: "/r".into(),
            surface: "terminal".into(),
            state: "opening".into(),
            created_us: 0,
            extra: serde_json::Map::new(),
        };
        let lease = store.create(&SessionId::new("sess_1"), meta).unwrap();
        fs::create_dir_all(dir.path().join("repo/d")).unwrap();
        for path in ["a", "b", "d/a"] {
            fs::write(dir.path().join("repo").join(path), "of the tree").unwrap();
        }
        fs::create_dir_all(dir.path().join("session/layer/upper")).unwrap();
        Self { dir, lease }
    }

    fn repo(&self) -> Repo {
        Repo { root: self.dir.path().join("repo"), git: None }
    }

    fn session(&self) -> PathBuf {
        self.dir.path().join("session")
    }

    fn upper(&self) -> PathBuf {
        self.session().join("layer/upper")
    }

    fn keeper(&self) -> Keeper {
        Keeper::new(self.session(), self.repo(), self.lease.sealer())
    }

    fn back(&self, call: &str) -> Result<back::Done, Refusal> {
        let ready = back::ready(&self.session(), self.repo(), self.lease.sealer(), &CallId::new(call))?;
        ready.carry_out()
    }

    /// Everything that the layer says.
    fn says(&self) -> BTreeMap<String, String> {
        let mut says = BTreeMap::new();
        let mut todo = vec![self.upper()];
        while let Some(path) = todo.pop() {
            let found = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(self.upper()).unwrap().display().to_string();
            let content = if found.is_dir() {
                todo.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                String::new()
            } else if found.is_symlink() {
                fs::read_link(&path).unwrap().display().to_string()
            } else {
                fs::read_to_string(&path).unwrap()
            };
            says.insert(name, format!("{:o} {content}", found.permissions().mode()));
        }
        says
    }
}

fn call(number: usize) -> CallId {
    CallId::new(format!("call_{number}"))
}

/// One thing that happens to a layer.
#[derive(Clone, Debug)]
enum Act {
    Write(usize, u8),
    Overwrite(usize, u8),
    Remove(usize),
    Mode(usize, u32),
    Link(usize, usize),
    Rename(usize, usize),
    Folder(usize),
}

const NAMES: [&str; 8] = ["a", "b", "c", "d/a", "d/b", "d/e/a", "d/e/b", "f"];

fn act() -> impl Strategy<Value = Act> {
    let name = || 0..NAMES.len();
    prop_oneof![
        (name(), any::<u8>()).prop_map(|(at, byte)| Act::Write(at, byte)),
        (name(), any::<u8>()).prop_map(|(at, byte)| Act::Overwrite(at, byte)),
        name().prop_map(Act::Remove),
        (name(), prop::sample::select(vec![0o644_u32, 0o755, 0o600]))
            .prop_map(|(at, mode)| Act::Mode(at, mode)),
        (name(), name()).prop_map(|(at, to)| Act::Link(at, to)),
        (name(), name()).prop_map(|(at, to)| Act::Rename(at, to)),
        name().prop_map(Act::Folder),
    ]
}

/// Does it, where it can be done.
fn perform(upper: &Path, act: &Act) {
    let path = |at: &usize| upper.join(NAMES[*at]);
    let parents = |at: &usize| fs::create_dir_all(path(at).parent().unwrap());
    let content = |byte: &u8| format!("{byte:03}");
    let _ = match act {
        Act::Write(at, byte) => {
            let _ = fs::remove_file(path(at));
            parents(at).and_then(|()| fs::write(path(at), content(byte)))
        }
        // The same inode and size; within one tick, the same time of change as well.
        Act::Overwrite(at, byte) if path(at).is_symlink() => symlink(content(byte), path(at)),
        Act::Overwrite(at, byte) => fs::write(path(at), content(byte)),
        Act::Remove(at) => {
            if path(at).is_dir() {
                fs::remove_dir_all(path(at))
            } else {
                fs::remove_file(path(at))
            }
        }
        Act::Mode(at, mode) if path(at).is_file() && !path(at).is_symlink() => {
            fs::set_permissions(path(at), Permissions::from_mode(*mode))
        }
        Act::Mode(..) => Ok(()),
        Act::Link(at, to) => parents(at).and_then(|()| symlink(NAMES[*to], path(at))),
        Act::Rename(at, to) => parents(to).and_then(|()| fs::rename(path(at), path(to))),
        Act::Folder(at) => fs::create_dir_all(path(at)),
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_moment_is_gone_back_to_exactly_whatever_happened_since(
        steps in prop::collection::vec(prop::collection::vec(act(), 0..6), 1..8),
        back in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        afresh in any::<prop::sample::Index>(),
    ) {
        let bench = Bench::new();
        let mut keeper = bench.keeper();
        let mut moments = Vec::new();
        for (number, acts) in steps.iter().enumerate() {
            if number == afresh.index(steps.len()) {
                keeper = bench.keeper();
            }
            prop_assert_eq!(keeper.keep(&call(number)), Kept::Complete);
            moments.push(bench.says());
            for act in acts {
                perform(&bench.upper(), act);
            }
        }
        for index in back {
            let number = index.index(moments.len());
            let before = bench.says();
            let done = bench.back(call(number).as_str()).unwrap();
            prop_assert_eq!(&bench.says(), &moments[number]);
            let told = done.restored.len() + done.removed.len() + done.recreated.len();
            prop_assert!(told == 0 || before != moments[number]);
            prop_assert_eq!(bench.back(call(number).as_str()).unwrap(), back::Done::default());
        }
    }
}

#[test]
fn only_what_changed_is_written_down_and_a_missing_moment_breaks_the_chain_until_a_full_one() {
    let bench = Bench::new();
    let mut keeper = bench.keeper();
    for (number, text) in ["one", "two", "three"].iter().enumerate() {
        assert_eq!(keeper.keep(&call(number)), Kept::Complete);
        fs::write(bench.upper().join("x"), text).unwrap();
    }
    let frames = bench.session().join("undo/frames");
    assert_eq!(fs::read_dir(&frames).unwrap().count(), 3);
    assert_eq!(fs::read_dir(bench.session().join("undo/blobs")).unwrap().count(), 2);
    fs::remove_file(frames.join("2")).unwrap();
    assert!(matches!(bench.back("call_1"), Err(Refusal::NotKept(_))));
    assert!(
        matches!(bench.back("call_2"), Err(Refusal::NotKept(_))),
        "it is a difference to what is missing"
    );
    assert_eq!(bench.keeper().keep(&call(3)), Kept::Complete);
    fs::write(bench.upper().join("x"), "four").unwrap();
    bench.back("call_3").unwrap();
    assert_eq!(fs::read_to_string(bench.upper().join("x")).unwrap(), "three");
    bench.back("call_0").unwrap();
    assert!(!bench.upper().join("x").exists());
}

#[test]
fn more_entries_than_one_moment_may_add_make_it_incomplete_and_the_next_one_whole() {
    let bench = Bench::new();
    let mut keeper = bench.keeper();
    assert_eq!(keeper.keep(&call(0)), Kept::Complete);
    for number in 0..20_001 {
        fs::hard_link(bench.dir.path().join("repo/a"), bench.upper().join(number.to_string()))
            .or_else(|_| fs::write(bench.upper().join(number.to_string()), "of the tree"))
            .unwrap();
    }
    let Kept::Incomplete(why) = keeper.keep(&call(1)) else { panic!("it is complete") };
    assert!(why.contains("20000 files and folders at most"), "{why}");
    assert!(matches!(bench.back("call_1"), Err(Refusal::Incomplete(..))));
    assert_eq!(keeper.keep(&call(2)), Kept::Complete);
}
