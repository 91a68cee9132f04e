//! Crashes: an application stopped after each of its acts, and mended at the next start.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use enclos_sandbox::layer::Kind;

use super::back::recover;
use super::engine::{Act, Engine, acts};
use super::ground::Ground;
use super::record::{Attributes, Directory, Record, Stage, Step};
use super::{ApplyError, store};
use crate::changeset::content::side;
use crate::changeset::model::Mode;
use crate::changeset::store::Store;

/// A tree, and a record of an application that does a bit of everything.
struct Bench {
    root: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir_all(bench.tree().join("dir/sub")).unwrap();
        for (path, content) in [("edited", "old"), ("gone", "old"), ("dir/sub/file", "old"), ("file", "old")]
        {
            fs::write(bench.tree().join(path), content).unwrap();
        }
        symlink("edited", bench.tree().join("link")).unwrap();
        bench
    }

    fn tree(&self) -> PathBuf {
        self.root.path().join("tree")
    }

    fn store(&self) -> Store {
        store(&self.root.path().join("session")).unwrap()
    }

    fn record(&self, ground: &Ground) -> Record {
        let attributes = Attributes { mode: 0o644, owner: ground.nearest("x").unwrap().owner };
        let step = |path: &str, from: Option<&str>, to: Option<&str>, mode| {
            let side = |text: &str| side(mode, text.as_bytes());
            let (was, becomes) = (from.map(|_| attributes), to.map(|_| attributes));
            Step { path: path.to_owned(), from: from.map(side), to: to.map(side), was, becomes }
        };
        let directory = |path: &str| Directory {
            path: path.to_owned(),
            attributes: Attributes { mode: 0o755, owner: attributes.owner },
        };
        Record {
            id: "00ff".to_owned(),
            repository: self.tree(),
            stage: Stage::Prepared,
            steps: vec![
                step("dir", None, Some("new"), Mode::Regular),
                step("dir/sub/file", Some("old"), None, Mode::Regular),
                step("edited", Some("old"), Some("new"), Mode::Regular),
                step("file", Some("old"), None, Mode::Regular),
                step("file/in/depth", None, Some("new"), Mode::Regular),
                step("gone", Some("old"), None, Mode::Regular),
                step("link", Some("edited"), Some("gone"), Mode::Link),
            ],
            homes: Vec::new(),
            made: vec![directory("file"), directory("file/in")],
            cleared: vec![directory("dir/sub"), directory("dir")],
        }
    }

    /// Saves the record and stages its contents, the last slots missing and one half written if `slots` is short.
    fn stage(&self, ground: &Ground, record: &Record, slots: usize) {
        record.save(&self.store()).unwrap();
        let attributes = Attributes { mode: 0o700, owner: ground.nearest("x").unwrap().owner };
        for staging in record.stagings() {
            ground.make_directory(&staging, attributes).unwrap();
        }
        for (at, step) in record.steps.iter().enumerate().filter(|(_, step)| step.to.is_some()) {
            let slot = record.slot(at);
            match (at.cmp(&slots), step.path.as_str()) {
                (std::cmp::Ordering::Less, "link") => ground.link(&slot, b"gone", attributes).unwrap(),
                (std::cmp::Ordering::Less, _) => ground.create(&slot).unwrap().write_all(b"new").unwrap(),
                (std::cmp::Ordering::Equal, _) => ground.create(&slot).unwrap().write_all(b"n").unwrap(),
                (std::cmp::Ordering::Greater, _) => {}
            }
        }
    }

    /// Does the first acts, as a gateway does that is killed then.
    fn act(&self, ground: &Ground, record: &Record, count: usize) {
        let store = self.store();
        let engine = Engine::new(ground, &store);
        acts(record).iter().take(count).for_each(|act: &Act<'_>| engine.perform(act).unwrap());
    }
}

/// Every path, with the content of a file and the target of a link.
fn look(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut todo = vec![root.to_owned()];
    while let Some(directory) = todo.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let text = match fs::symlink_metadata(&path).unwrap() {
                found if found.is_dir() => String::new(),
                found if found.is_symlink() => fs::read_link(&path).unwrap().to_str().unwrap().to_owned(),
                _ => fs::read_to_string(&path).unwrap(),
            };
            if fs::symlink_metadata(&path).unwrap().is_dir() {
                todo.push(path);
            }
            found.insert(name, text);
        }
    }
    found
}

#[test]
fn a_crash_after_any_act_is_taken_back() {
    for count in 0..=acts_in_all() {
        let bench = Bench::new();
        let before = look(&bench.tree());
        let mut record = {
            let ground = Ground::lock(&bench.tree()).unwrap();
            let record = bench.record(&ground);
            bench.stage(&ground, &record, usize::MAX);
            bench.act(&ground, &record, count);
            record
        };
        let recovered = recover(&bench.store(), &mut record).unwrap().unwrap();
        assert_eq!((recovered.done, recovered.left), (false, Vec::new()), "after {count} acts");
        assert_eq!(look(&bench.tree()), before, "after {count} acts");
        assert_eq!(Record::load(&bench.store(), "00ff").unwrap().unwrap().stage, Stage::Undone);
    }
}

#[test]
fn a_crash_while_contents_are_written_is_taken_back() {
    for slots in 0..7 {
        let bench = Bench::new();
        let before = look(&bench.tree());
        {
            let ground = Ground::lock(&bench.tree()).unwrap();
            bench.stage(&ground, &bench.record(&ground), slots);
        }
        let recovered = super::recover(&bench.root.path().join("session")).unwrap();
        assert_eq!(recovered.len(), 1);
        assert_eq!(look(&bench.tree()), before, "with {slots} slots");
        assert_eq!(super::recover(&bench.root.path().join("session")).unwrap(), []);
    }
}

#[test]
fn a_crash_after_the_end_only_leaves_traces() {
    let bench = Bench::new();
    let mut record = {
        let ground = Ground::lock(&bench.tree()).unwrap();
        let mut record = bench.record(&ground);
        bench.stage(&ground, &record, usize::MAX);
        bench.act(&ground, &record, usize::MAX);
        record.stage = Stage::Done;
        record.save(&bench.store()).unwrap();
        record
    };
    assert!(recover(&bench.store(), &mut record).unwrap().unwrap().done);
    let expected =
        [("dir", "new"), ("edited", "new"), ("file", ""), ("file/in", ""), ("file/in/depth", "new")];
    let expected = expected.into_iter().chain([("link", "gone")]);
    assert_eq!(
        look(&bench.tree()),
        expected.map(|(path, text)| (path.to_owned(), text.to_owned())).collect()
    );
}

#[test]
fn a_crash_between_the_steps_of_an_exchange_is_taken_back() {
    // Each is a state that a file system without an exchange, or without a rename that never replaces, can show.
    let states: [fn(&Path, &Path); 6] = [
        |path, slot| fs::hard_link(path, slot.with_extension("aside")).unwrap(),
        |path, slot| fs::rename(path, slot.with_extension("aside")).unwrap(),
        |path, slot| {
            fs::rename(path, slot.with_extension("aside")).unwrap();
            fs::hard_link(slot, path).unwrap();
        },
        |path, slot| {
            fs::rename(path, slot.with_extension("aside")).unwrap();
            fs::rename(slot, path).unwrap();
        },
        |path, slot| {
            fs::rename(path, slot.with_extension("aside")).unwrap();
            fs::rename(slot, path).unwrap();
            fs::hard_link(slot.with_extension("aside"), slot).unwrap();
        },
        |path, slot| {
            fs::rename(path, slot.with_extension("aside")).unwrap();
            fs::rename(slot, path).unwrap();
            fs::rename(slot.with_extension("aside"), slot).unwrap();
        },
    ];
    for (number, state) in states.into_iter().enumerate() {
        let bench = Bench::new();
        let before = look(&bench.tree());
        let mut record = {
            let ground = Ground::lock(&bench.tree()).unwrap();
            let record = bench.record(&ground);
            bench.stage(&ground, &record, usize::MAX);
            state(&bench.tree().join("edited"), &bench.tree().join(record.slot(2)));
            record
        };
        let recovered = recover(&bench.store(), &mut record).unwrap().unwrap();
        assert_eq!((recovered.left, look(&bench.tree())), (Vec::new(), before), "state {number}");
    }
}

#[test]
fn second_names_of_added_and_removed_files_are_taken_back() {
    let bench = Bench::new();
    let before = look(&bench.tree());
    let mut record = {
        let ground = Ground::lock(&bench.tree()).unwrap();
        let mut record = bench.record(&ground);
        record.steps[0].path = "added".to_owned();
        bench.stage(&ground, &record, usize::MAX);
        fs::hard_link(bench.tree().join(record.slot(0)), bench.tree().join("added")).unwrap();
        fs::hard_link(bench.tree().join("gone"), bench.tree().join(record.slot(5))).unwrap();
        record
    };
    let recovered = recover(&bench.store(), &mut record).unwrap().unwrap();
    assert_eq!((recovered.left, look(&bench.tree())), (Vec::new(), before));
}

#[test]
fn files_change_places_without_the_help_of_the_file_system() {
    let bench = Bench::new();
    let ground = Ground::lock(&bench.tree()).unwrap();
    fs::write(bench.tree().join("slot"), "new").unwrap();
    ground.exchange_by_steps("edited", "slot").unwrap();
    ground.shift_by_link("slot", "former").unwrap();
    let found = look(&bench.tree());
    assert_eq!((found["edited"].as_str(), found["former"].as_str(), found.get("slot")), ("new", "old", None));
    assert!(ground.shift_by_link("edited", "former").is_err(), "nothing is replaced");
    ground.shift_by_link("link", "other-link").unwrap();
    assert_eq!(look(&bench.tree())["other-link"], "edited", "a link itself, not what it leads to");
}

#[test]
fn what_the_person_changed_after_a_crash_stays_theirs() {
    let bench = Bench::new();
    let mut record = {
        let ground = Ground::lock(&bench.tree()).unwrap();
        let record = bench.record(&ground);
        bench.stage(&ground, &record, usize::MAX);
        bench.act(&ground, &record, usize::MAX);
        record
    };
    fs::write(bench.tree().join("edited"), "mine").unwrap();
    fs::write(bench.tree().join("gone"), "mine").unwrap();
    let recovered = recover(&bench.store(), &mut record).unwrap().unwrap();
    assert_eq!(recovered.left, ["edited", "gone"]);
    let staging = recovered.staging.unwrap();
    let found = look(&bench.tree());
    assert_eq!((found["edited"].as_str(), found["gone"].as_str()), ("mine", "mine"));
    assert_eq!((found["file"].as_str(), found["dir/sub/file"].as_str()), ("old", "old"));
    assert_eq!(found[&format!("{staging}/2")], "old", "the former content is kept");
    assert_eq!(found[&format!("{staging}/5")], "old");
}

#[test]
fn a_file_that_changes_between_plan_and_act_ends_the_run() {
    for path in ["edited", "gone", "file"] {
        let bench = Bench::new();
        let ground = Ground::lock(&bench.tree()).unwrap();
        let steps = bench.record(&ground).steps;
        let store = bench.store();
        let engine = Engine::new(&ground, &store);
        let before = {
            fs::write(bench.tree().join(path), "mine").unwrap();
            look(&bench.tree())
        };
        let write = |step: &Step, to: &mut dyn Write| {
            let bytes: &[u8] = if step.path == "link" { b"gone" } else { b"new" };
            to.write_all(bytes).unwrap();
            Ok(side(step.to.as_ref().unwrap().mode, bytes))
        };
        // The former content is kept already, so that the change is seen by the act alone.
        store.keep(&mut &b"old"[..], Mode::Regular).unwrap();
        let error =
            engine.run(&bench.tree(), &steps, &["dir/sub".to_owned(), "dir".to_owned()], &write).unwrap_err();
        assert!(matches!(&error, ApplyError::Moved(moved) if moved == path), "{error}");
        assert_eq!(look(&bench.tree()), before);
    }
}

#[test]
fn one_application_at_a_time() {
    let bench = Bench::new();
    let held = Ground::lock(&bench.tree()).unwrap();
    assert!(matches!(Ground::lock(&bench.tree()), Err(ApplyError::Busy)));
    drop(held);
    let ground = Ground::lock(&bench.tree()).unwrap();
    assert_eq!(ground.tree().entry("dir").unwrap().unwrap().kind, Kind::Directory);
}

/// How many acts the record of the bench has.
fn acts_in_all() -> usize {
    let bench = Bench::new();
    let ground = Ground::lock(&bench.tree()).unwrap();
    acts(&bench.record(&ground)).len()
}
