//! Applying: exactly what was reviewed, three ways where the tree moved, all or nothing, and undone again.

mod changeset_support;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use changeset_support::{Bench, Node, Tree, any_tree, file, link, program, put, read, tree, turn};
use enclos_gateway::changeset::{
    Applied, ApplyError, Cause, ChangeSet, Choice, Conflict, record_hidden, record_unclean, recover, undo,
};
use proptest::prelude::*;

/// A session that turned `base` into `after`, its change set, and what the tree has become meanwhile.
struct Case {
    bench: Bench,
    set: ChangeSet,
}

impl Case {
    fn new(base: &Tree, after: &Tree) -> Self {
        let bench = Bench::new(base);
        assert!(record_unclean(&bench.repository(), &bench.layer()).unwrap());
        bench.session(base, after);
        let set = bench.build();
        Self { bench, set }
    }

    fn apply(&self, choice: &Choice) -> Result<Applied, ApplyError> {
        self.bench.workspace().apply(&self.set, choice, &self.bench.at("session"))
    }

    fn conflicts(&self) -> Vec<Conflict> {
        let before = self.tree();
        let Err(ApplyError::Conflicts(conflicts)) = self.apply(&Choice::All) else { panic!("no conflict") };
        assert_eq!(self.tree(), before, "a conflict leaves the tree as it is");
        conflicts
    }

    fn causes(&self) -> Vec<(String, Cause)> {
        self.conflicts().into_iter().map(|conflict| (conflict.path, conflict.cause)).collect()
    }

    fn undo(&self, id: &str) -> Result<Applied, ApplyError> {
        undo(&self.bench.repository(), &self.bench.at("session"), id)
    }

    fn tree(&self) -> Tree {
        read(&self.bench.repository())
    }

    fn change_outside(&self, path: &str, content: &str) {
        put(&self.bench.repository(), path, &file(content));
    }
}

/// No trace of an application is left at the root.
fn assert_clean(case: &Case) {
    let names = fs::read_dir(case.bench.repository()).unwrap().map(|entry| entry.unwrap().file_name());
    let traces: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with(".enclos")).collect();
    assert!(traces.is_empty(), "{traces:?}");
}

fn many_shapes() -> (Tree, Tree) {
    let long: String = (0..200).map(|n| n.to_string() + "\n").collect();
    let base = tree([
        ("edited", file("1\n2\n3\n")),
        ("gone/deep/file", file("x\n")),
        ("kept", file("k\n")),
        ("moved.txt", file(&long)),
        ("mode", file("m\n")),
        ("link", link("kept")),
        ("to-link", file("t\n")),
        ("dir/a", file("1\n")),
        ("dir/sub/b", file("2\n")),
        ("file", file("3\n")),
        ("blob", file([0, 1, 2])),
    ]);
    let after = tree([
        ("edited", file("1\ntwo\n3\n")),
        ("kept", file("k\n")),
        ("new/name.txt", file(long.replace("77\n", "seventy-seven\n"))),
        ("mode", program("m\n")),
        ("link", link("edited")),
        ("to-link", link("kept")),
        ("dir", file("now a file\n")),
        ("file/x", file("in a directory\n")),
        ("blob", file([3, 0, 4])),
        ("fresh/in/depth", program("#!/bin/sh\n")),
    ]);
    (base, after)
}

#[test]
fn every_shape_is_applied_and_undone() {
    let (base, after) = many_shapes();
    let case = Case::new(&base, &after);
    let applied = case.apply(&Choice::All).unwrap();
    assert_eq!(case.tree(), after);
    assert!(!case.bench.repository().join("gone").exists(), "an emptied directory goes");
    assert_eq!(applied.merged, Vec::<String>::new());
    assert!(applied.removed.contains(&"moved.txt".to_owned()), "{applied:?}");
    assert_clean(&case);

    let again = case.apply(&Choice::All).unwrap();
    assert_eq!(again.unchanged.len(), case.set.files.len(), "a second application finds nothing to do");
    assert_eq!(case.tree(), after);

    case.undo(&applied.id).unwrap();
    assert_eq!(case.tree(), base);
    assert_clean(&case);
    assert!(matches!(case.undo(&applied.id), Err(ApplyError::NoRecord(_))));
    assert!(matches!(case.undo("../x"), Err(ApplyError::NoRecord(_))));
}

#[test]
fn a_choice_of_files_leaves_the_others() {
    let base = tree([("a", file("1\n")), ("b", file("2\n"))]);
    let case = Case::new(&base, &tree([("a", file("one\n")), ("b", file("two\n")), ("c", file("three\n"))]));
    let applied = case.apply(&Choice::files(["a", "c"])).unwrap();
    assert_eq!(applied.written, ["a", "c"]);
    assert_eq!(case.tree(), tree([("a", file("one\n")), ("b", file("2\n")), ("c", file("three\n"))]));
    assert!(matches!(case.apply(&Choice::files(["z"])), Err(ApplyError::NotInSet(path)) if path == "z"));
}

#[test]
fn changes_apart_merge_three_ways() {
    let base = tree([("f", file("1\n2\n3\n4\n5\n")), ("x", file("x\n"))]);
    let case = Case::new(&base, &tree([("f", file("one\n2\n3\n4\n5\n")), ("x", program("x\n"))]));
    case.change_outside("f", "1\n2\n3\n4\nfive\n");
    case.change_outside("x", "y\n");
    let applied = case.apply(&Choice::All).unwrap();
    assert_eq!(applied.merged, ["f"]);
    assert_eq!(case.tree(), tree([("f", file("one\n2\n3\n4\nfive\n")), ("x", program("y\n"))]));
    case.undo(&applied.id).unwrap();
    assert_eq!(case.tree(), tree([("f", file("1\n2\n3\n4\nfive\n")), ("x", file("y\n"))]));
}

#[test]
fn clashing_lines_are_shown_and_nothing_is_applied() {
    let base = tree([("a", file("1\n")), ("f", file("1\n2\n3\n"))]);
    let case = Case::new(&base, &tree([("a", file("one\n")), ("f", file("1\ntheirs\n3\n"))]));
    case.change_outside("f", "1\nours\n3\n");
    let conflicts = case.conflicts();
    assert_eq!(conflicts.len(), 1);
    assert_eq!((conflicts[0].path.as_str(), conflicts[0].cause), ("f", Cause::BothChanged));
    let clash = &conflicts[0].clashes[0];
    assert_eq!(
        (clash.line, clash.base.as_str(), clash.ours.as_str(), clash.theirs.as_str()),
        (2, "2\n", "ours\n", "theirs\n")
    );
    // The rest can still be chosen.
    case.apply(&Choice::files(["a"])).unwrap();
    assert_eq!(case.tree(), tree([("a", file("one\n")), ("f", file("1\nours\n3\n"))]));
}

#[test]
fn what_was_made_or_removed_outside_is_never_lost() {
    let base = tree([("edited", file("1\n")), ("gone", file("2\n")), ("moved", file("long enough\n"))]);
    let after =
        tree([("edited", file("one\n")), ("fresh", file("theirs\n")), ("new-name", file("long enough\n"))]);
    let case = Case::new(&base, &after);
    fs::remove_file(case.bench.repository().join("edited")).unwrap();
    case.change_outside("gone", "still wanted\n");
    case.change_outside("fresh", "mine\n");
    case.change_outside("new-name", "mine too\n");
    assert_eq!(
        case.causes(),
        [
            ("edited".to_owned(), Cause::RemovedOutside),
            ("fresh".to_owned(), Cause::Exists),
            ("gone".to_owned(), Cause::ChangedOutside),
            ("new-name".to_owned(), Cause::Exists),
        ]
    );
}

#[test]
fn the_same_change_on_both_sides_is_no_conflict() {
    let base = tree([("edited", file("1\n")), ("gone", file("2\n"))]);
    let case = Case::new(&base, &tree([("edited", file("one\n")), ("fresh", file("3\n"))]));
    case.change_outside("edited", "one\n");
    case.change_outside("fresh", "3\n");
    fs::remove_file(case.bench.repository().join("gone")).unwrap();
    let applied = case.apply(&Choice::All).unwrap();
    assert_eq!(applied.unchanged, ["edited", "fresh", "gone"]);
}

#[test]
fn a_renamed_file_takes_changes_from_outside_along() {
    let long: String = (0..50).map(|n| n.to_string() + "\n").collect();
    let base = tree([("old", file(&long))]);
    let case = Case::new(&base, &tree([("new", file(long.replace("\n9\n", "\nnine\n")))]));
    case.change_outside("old", &long.replace("\n40\n", "\nforty\n"));
    let applied = case.apply(&Choice::All).unwrap();
    assert_eq!(applied.merged, ["new"]);
    let expected = long.replace("\n9\n", "\nnine\n").replace("\n40\n", "\nforty\n");
    assert_eq!(case.tree(), tree([("new", file(expected))]));
}

#[test]
fn two_sessions_on_one_tree() {
    let base = tree([("f", file("1\n2\n3\n4\n5\n6\n7\n"))]);
    let first = Case::new(&base, &tree([("f", file("1st\n2\n3\n4\n5\n6\n7\n"))]));
    // The second has a layer of its own over the same tree, opened before the first is applied.
    let second = first.bench.at("second");
    fs::create_dir_all(second.join("upper")).unwrap();
    enclos_gateway::changeset::record_opening(&second).unwrap();
    assert!(record_unclean(&first.bench.repository(), &second).unwrap());
    put(&second.join("upper"), "f", &file("1\n2\n3\n4\n5\n6\n7th\n"));
    first.apply(&Choice::All).unwrap();

    let repository = first.bench.repository();
    let mut workspace = enclos_gateway::changeset::Workspace::open(&repository, &second).unwrap();
    let set = workspace.build(&|_: &_, _: &str| Vec::new()).unwrap();
    assert_eq!((set.insertions, set.deletions), (1, 1), "shown against the tree at opening");
    let applied = workspace.apply(&set, &Choice::All, &first.bench.at("other")).unwrap();
    assert_eq!(applied.merged, ["f"]);
    assert_eq!(first.tree(), tree([("f", file("1st\n2\n3\n4\n5\n6\n7th\n"))]));
}

#[test]
fn undo_refuses_when_a_file_changed_since() {
    let base = tree([("a", file("1\n")), ("b", file("2\n"))]);
    let case = Case::new(&base, &tree([("a", file("one\n")), ("b", file("two\n"))]));
    let applied = case.apply(&Choice::All).unwrap();
    case.change_outside("b", "mine\n");
    let Err(ApplyError::Conflicts(conflicts)) = case.undo(&applied.id) else { panic!("undone") };
    assert_eq!((conflicts.len(), conflicts[0].path.as_str()), (1, "b"));
    assert_eq!(case.tree(), tree([("a", file("one\n")), ("b", file("mine\n"))]));
}

#[test]
fn modes_and_owners_of_the_person_are_kept() {
    let base = tree([("private", file("1\n")), ("script", program("2\n")), ("plain", file("3\n"))]);
    let case = Case::new(
        &base,
        &tree([
            ("private", file("one\n")),
            ("script", program("two\n")),
            ("plain", program("3\n")),
            ("sub/new", file("4\n")),
        ]),
    );
    let at = |path: &str| case.bench.repository().join(path);
    fs::set_permissions(at("private"), Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(at("script"), Permissions::from_mode(0o750)).unwrap();
    fs::set_permissions(at("plain"), Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(case.bench.repository(), Permissions::from_mode(0o750)).unwrap();
    let owner = if rustix::process::geteuid().is_root() { 1234 } else { rustix::process::geteuid().as_raw() };
    if rustix::process::geteuid().is_root() {
        for path in ["", "private", "plain"] {
            std::os::unix::fs::chown(at(path), Some(owner), Some(owner)).unwrap();
        }
    }
    let applied = case.apply(&Choice::All).unwrap();
    let mode = |path: &str| fs::symlink_metadata(at(path)).unwrap().mode() & 0o7777;
    assert_eq!((mode("private"), mode("script"), mode("plain")), (0o600, 0o750, 0o750));
    assert_eq!((mode("sub"), mode("sub/new")), (0o750, 0o640));
    for path in ["private", "plain", "sub", "sub/new"] {
        assert_eq!(fs::symlink_metadata(at(path)).unwrap().uid(), owner, "{path}");
    }
    case.undo(&applied.id).unwrap();
    assert_eq!((mode("private"), mode("plain")), (0o600, 0o640));
    assert_eq!(fs::symlink_metadata(at("plain")).unwrap().uid(), owner);
}

#[test]
fn a_link_on_the_way_is_never_gone_through() {
    let base = tree([("dir/file", file("1\n"))]);
    let case = Case::new(&base, &tree([("dir/file", file("one\n")), ("dir/fresh", file("2\n"))]));
    let outside = case.bench.at("outside");
    fs::rename(case.bench.repository().join("dir"), &outside).unwrap();
    symlink(&outside, case.bench.repository().join("dir")).unwrap();
    assert_eq!(
        case.causes(),
        [("dir/file".to_owned(), Cause::RemovedOutside), ("dir/fresh".to_owned(), Cause::InTheWay)]
    );
    assert_eq!(read(&outside), tree([("file", file("1\n"))]));
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_written_through() {
    let base = tree([("file", file("1\n"))]);
    let case = Case::new(&base, &tree([("file", file("one\n")), ("fresh", file("2\n"))]));
    let outside = case.bench.at("outside");
    fs::write(&outside, "1\n").unwrap();
    for name in ["file", "fresh"] {
        let path = case.bench.repository().join(name);
        let _ = fs::remove_file(&path);
        symlink(&outside, path).unwrap();
    }
    assert_eq!(case.causes(), [("file".to_owned(), Cause::BothChanged), ("fresh".to_owned(), Cause::Exists)]);
    assert_eq!(fs::read(&outside).unwrap(), b"1\n");
}

#[test]
fn a_directory_with_files_of_the_person_stays() {
    let base = tree([("dir/a", file("1\n"))]);
    let case = Case::new(&base, &tree([("dir", file("a file\n"))]));
    case.change_outside("dir/mine", "mine\n");
    assert_eq!(case.causes(), [("dir".to_owned(), Cause::InTheWay)]);
}

#[test]
fn forbidden_paths_are_not_written_whatever_a_change_set_says() {
    let base = tree([("a", file("1\n"))]);
    let case = Case::new(&base, &tree([("a", file("one\n"))]));
    for path in [".git/config", "../outside", "sub/.GIT/hooks/x", "/etc/x", ""] {
        let mut set = case.set.clone();
        set.files[0].path = path.to_owned();
        let result = case.bench.workspace().apply(&set, &Choice::All, &case.bench.at("session"));
        assert!(matches!(result, Err(ApplyError::Forbidden(_))), "{path}: {result:?}");
    }
}

#[test]
fn contents_other_than_the_reviewed_are_not_applied() {
    let base = tree([("a", file("1\n")), ("b", file("2\n"))]);
    let case = Case::new(&base, &tree([("a", file("one\n")), ("b", file("two\n"))]));
    fs::write(case.bench.layer().join("upper/b"), "other\n").unwrap();
    let error = case.apply(&Choice::All).unwrap_err();
    assert!(error.to_string().contains("`b` is not the content that was reviewed"), "{error}");
    assert_eq!(case.tree(), base);
    assert_clean(&case);
    assert_eq!(recover(&case.bench.at("session")).unwrap(), []);
}

#[test]
fn hidden_files_are_a_conflict() {
    let base = tree([("env", file("mine\n")), ("a", file("1\n"))]);
    let bench = Bench::new(&base);
    record_hidden(&bench.layer(), &["env".into(), "a".into()]).unwrap();
    put(&bench.layer().join("upper"), "env", &file("theirs\n"));
    let case = Case { set: bench.build(), bench };
    assert_eq!(case.causes(), [("env".to_owned(), Cause::Hidden)]);
    // A later opening shows both, but what was written blindly stays a conflict.
    record_hidden(&case.bench.layer(), &[]).unwrap();
    put(&case.bench.layer().join("upper"), "a", &file("2\n"));
    let case = Case { set: case.bench.build(), bench: case.bench };
    assert_eq!(case.causes(), [("env".to_owned(), Cause::Hidden)]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_or_nothing_and_back_whatever_happened_outside(base in any_tree(), after in any_tree(), now in any_tree()) {
        let case = Case::new(&base, &after);
        turn(&case.bench.repository(), &base, &now);
        match case.apply(&Choice::All) {
            Err(ApplyError::Conflicts(_)) => prop_assert_eq!(case.tree(), now),
            Err(error) => prop_assert!(false, "{}", error),
            Ok(applied) => {
                let tree = case.tree();
                for (path, node) in &tree {
                    let joined = applied.merged.contains(path);
                    let sides = [after.get(path), now.get(path)];
                    let same = |side: Option<&Node>| side.is_some_and(|side| content(side) == content(node));
                    prop_assert!(joined || sides.into_iter().any(same), "{} is {:?}", path, node);
                }
                let lost: Vec<_> = now.keys().filter(|path| !tree.contains_key(*path)).collect();
                prop_assert!(lost.iter().all(|path| base.contains_key(*path) && !after.contains_key(*path)), "{:?}", lost);
                if !applied.written.is_empty() || !applied.removed.is_empty() {
                    case.undo(&applied.id).unwrap();
                    prop_assert_eq!(case.tree(), now);
                }
            }
        }
        assert_clean(&case);
    }

    #[test]
    fn what_did_not_move_becomes_what_was_written(base in any_tree(), after in any_tree()) {
        let bench = Bench::without_git(&base);
        bench.session(&base, &after);
        let case = Case { set: bench.build(), bench };
        case.apply(&Choice::All).unwrap();
        prop_assert_eq!(case.tree(), after);
    }
}

/// The bytes or the target, whatever the mode.
fn content(node: &Node) -> (&[u8], bool) {
    match node {
        Node::File(bytes, _) => (bytes, false),
        Node::Link(target) => (target.as_bytes(), true),
    }
}
