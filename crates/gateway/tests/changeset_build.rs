//! Building: what belongs to a change set, against which base, and what is flagged or left out.

mod changeset_support;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use changeset_support::{Bench, Tree, commit, file, git, link, program, put, read, tree, whiteout};
use enclos_gateway::changeset::{
    ApplyError, Cause, ChangeSet, ChangeSetError, Choice, FileChange, Kind, Known, LineKind, MAX_TEXT,
    Reason, Special, Workspace, record_unclean,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};

fn paths(set: &ChangeSet) -> Vec<&str> {
    set.files.iter().map(|file| file.path.as_str()).collect()
}

fn write_upper(bench: &Bench, written: &Tree) {
    changeset_support::write(&bench.layer().join("upper"), written);
}

#[test]
fn ignored_files_are_left_out_and_counted() {
    let base = tree([
        (".gitignore", file("*.log\n/target/\n")),
        ("src/.gitignore", file("generated.rs\n")),
        ("target/old/a", file("a\n")),
        ("old.log", file("1\n")),
    ]);
    let bench = Bench::without_git(&base);
    write_upper(
        &bench,
        &tree([
            ("a.log", file("x\n")),
            ("old.log", file("2\n")),
            ("target/debug/x", file("x\n")),
            ("src/generated.rs", file("x\n")),
            ("src/main.rs", file("x\n")),
            // A rule of the session's own hides nothing.
            ("hidden/.gitignore", file("*\n")),
            ("hidden/payload", file("x\n")),
        ]),
    );
    whiteout(&bench.layer().join("upper/target/old"));
    let set = bench.build();
    assert_eq!(paths(&set), ["hidden/.gitignore", "hidden/payload", "src/main.rs"]);
    assert_eq!(set.ignored, 4, "two logs, `target` as one, and a generated file");
}

#[test]
fn a_tracked_file_counts_although_a_rule_ignores_it() {
    let base =
        tree([(".gitignore", file("build/\n*.env\n")), ("build/keep", file("1\n")), ("a.env", file("1\n"))]);
    let bench = Bench::new(&base);
    write_upper(
        &bench,
        &tree([
            ("build/keep", file("2\n")),
            ("build/out", file("x\n")),
            ("a.env", file("2\n")),
            ("b.env", file("x\n")),
        ]),
    );
    assert!(record_unclean(&bench.repository(), &bench.layer()).unwrap());
    let set = bench.build();
    assert_eq!(paths(&set), ["a.env", "build/keep"]);
    assert_eq!(set.ignored, 2);
}

#[test]
fn what_cannot_travel_is_named() {
    let bench = Bench::without_git(&tree([("a", file("1\n"))]));
    let upper = bench.layer().join("upper");
    write_upper(
        &bench,
        &tree([("sub/.git/config", file("x\n")), ("a", file("2\n")), ("to-git", link(".git/hooks"))]),
    );
    fs::create_dir_all(upper.join(".git")).unwrap();
    mknodat(CWD, upper.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let set = bench.build();
    assert_eq!(paths(&set), ["a"]);
    let refused: Vec<_> = set.refused.iter().map(|refused| (refused.path.as_str(), refused.reason)).collect();
    assert_eq!(
        refused,
        [
            ("pipe", Reason::Special(Special::Fifo)),
            ("sub/.git", Reason::GitDirectory),
            ("to-git", Reason::LinkToGit)
        ]
    );
}

#[test]
fn what_was_only_touched_is_no_change() {
    let base = tree([("a", file("1\n")), ("b", program("2\n")), ("l", link("a"))]);
    let bench = Bench::without_git(&base);
    write_upper(&bench, &base);
    fs::set_permissions(bench.layer().join("upper/a"), Permissions::from_mode(0o600)).unwrap();
    let set = bench.build();
    assert!(set.is_empty(), "{set:?}");
}

#[test]
fn flags_are_ours_and_the_caller_s() {
    let bench = Bench::without_git(&tree([("a", file("old\n")), ("blob", file([0]))]));
    write_upper(
        &bench,
        &tree([
            ("a", file("old\nkey = 1\n")),
            ("tool", program("x\n")),
            ("blob", file([0, 1])),
            ("out", link("/etc")),
        ]),
    );
    fs::set_permissions(bench.layer().join("upper/tool"), Permissions::from_mode(0o6755)).unwrap();
    let seen = |change: &FileChange, added: &str| {
        if change.path == "a" {
            assert_eq!(added, "key = 1\n");
        }
        if change.binary {
            assert_eq!(added, "");
        }
        if added.contains("key") { vec!["secret".to_owned(), "another".to_owned()] } else { Vec::new() }
    };
    let set = bench.workspace().build(&seen).unwrap();
    let flags = |path: &str| set.get(path).unwrap().flags.clone();
    assert_eq!(flags("a"), ["another", "secret"]);
    assert_eq!(flags("tool"), ["new-execute-bit", "privileged-bits-stripped"]);
    assert_eq!(flags("out"), ["link-leaves-tree"]);
    assert_eq!(flags("blob"), Vec::<String>::new());
}

#[test]
fn the_digest_binds_contents_modes_and_flags() {
    let digest = |written: &Tree, flag: Option<&str>| {
        let bench = Bench::without_git(&tree([("a", file("1\n"))]));
        write_upper(&bench, written);
        let flags = |_: &FileChange, _: &str| flag.iter().map(|flag| (*flag).to_owned()).collect();
        bench.workspace().build(&flags).unwrap().digest
    };
    let one = digest(&tree([("a", file("2\n"))]), None);
    assert_eq!(one, digest(&tree([("a", file("2\n"))]), None));
    assert!(one.as_str().starts_with("sha256:"));
    for (written, flag) in [
        (tree([("a", file("3\n"))]), None),
        (tree([("a", program("2\n"))]), None),
        (tree([("a", file("2\n")), ("b", file(""))]), None),
        (tree([("a", file("2\n"))]), Some("x")),
    ] {
        assert_ne!(one, digest(&written, flag));
    }
}

#[test]
fn a_large_file_is_applied_but_not_in_the_patch() {
    let base = tree([("a", file("1\n"))]);
    let bench = Bench::without_git(&base);
    let large = bench.layer().join("upper/large");
    fs::File::create(&large).unwrap().set_len(MAX_TEXT + 1).unwrap();
    write_upper(&bench, &tree([("a", file("2\n"))]));
    let set = bench.build();
    assert!(set.get("large").unwrap().binary);
    let workspace = bench.workspace();
    let patch = workspace.patch(&set, &Choice::All).unwrap();
    assert_eq!(patch.omitted.iter().map(|omitted| omitted.path.as_str()).collect::<Vec<_>>(), ["large"]);
    assert!(workspace.show(set.get("large").unwrap()).unwrap().binary);
    workspace.apply(&set, &Choice::All, &bench.at("session")).unwrap();
    assert_eq!(fs::metadata(bench.repository().join("large")).unwrap().len(), MAX_TEXT + 1);
}

#[test]
fn hunks_are_shown_line_by_line() {
    let bench = Bench::without_git(&tree([("a", file("1\n2\n3\n")), ("l", link("a"))]));
    write_upper(&bench, &tree([("a", file("1\ntwo\n3")), ("l", file("now a file\n"))]));
    let set = bench.build();
    let workspace = bench.workspace();
    let shown = workspace.show(set.get("a").unwrap()).unwrap();
    assert_eq!((shown.binary, shown.hunks.len(), shown.hunks[0].start), (false, 1, 1));
    let lines: Vec<_> = shown.hunks[0].lines.iter().map(|line| (line.kind, line.text.as_str())).collect();
    assert_eq!(
        lines,
        [
            (LineKind::Context, "1"),
            (LineKind::Removed, "2"),
            (LineKind::Removed, "3"),
            (LineKind::Added, "two"),
            (LineKind::Added, "3")
        ]
    );
    assert!(shown.hunks[0].lines[4].unterminated);
    assert_eq!(workspace.show(set.get("l").unwrap()).unwrap().hunks.len(), 2);
}

#[test]
fn a_tree_that_moved_is_shown_against_what_it_was() {
    let base = tree([("clean", file("1\n2\n3\n")), ("dirty", file("1\n")), ("gone", file("g\n"))]);
    let bench = Bench::new(&base);
    // Before the opening: one file is edited, one is new, one is removed.
    let bench = reopened(bench, |bench| {
        put(&bench.repository(), "dirty", &file("1\n2\n3\n4\n5\n6\n"));
        put(&bench.repository(), "untracked", &file("u\nv\nw\nx\ny\n"));
        fs::remove_file(bench.repository().join("gone")).unwrap();
    });
    assert!(record_unclean(&bench.repository(), &bench.layer()).unwrap());
    write_upper(
        &bench,
        &tree([
            ("clean", file("1\n2\nthree\n")),
            ("dirty", file("1\n2\n3\n4\n5\nsix\n")),
            ("untracked", file("u\nv\nw\nx\nY\n")),
            ("gone", file("made anew\n")),
        ]),
    );
    // After it: the person goes on.
    put(&bench.repository(), "clean", &file("one\n2\n3\n"));
    put(&bench.repository(), "dirty", &file("one\n2\n3\n4\n5\n6\n"));
    put(&bench.repository(), "untracked", &file("U\nv\nw\nx\ny\n"));
    let set = bench.build();
    for path in ["clean", "dirty", "untracked"] {
        let change = set.get(path).unwrap();
        assert_eq!((change.known, change.insertions, change.deletions), (Known::Yes, 1, 1), "{path}");
    }
    assert_eq!(set.get("gone").unwrap().kind, Kind::Added);
    let applied = bench.workspace().apply(&set, &Choice::All, &bench.at("session")).unwrap();
    assert_eq!(applied.merged, ["clean", "dirty", "untracked"]);
    let expected = tree([
        ("clean", file("one\n2\nthree\n")),
        ("dirty", file("one\n2\n3\n4\n5\nsix\n")),
        ("untracked", file("U\nv\nw\nx\nY\n")),
        ("gone", file("made anew\n")),
    ]);
    assert_eq!(read(&bench.repository()), expected);
}

/// The same repository with something done before the session's opening.
fn reopened(bench: Bench, before: impl FnOnce(&Bench)) -> Bench {
    before(&bench);
    fs::remove_dir_all(bench.layer()).unwrap();
    bench.open();
    bench
}

#[test]
fn a_changed_file_of_unknown_base_is_a_conflict() {
    let base = tree([("a", file("1\n")), ("b", file("1\n"))]);
    let bench = Bench::without_git(&base);
    write_upper(&bench, &tree([("a", file("2\n")), ("b", file("2\n"))]));
    put(&bench.repository(), "a", &file("3\n"));
    assert!(!record_unclean(&bench.repository(), &bench.layer()).unwrap());
    let set = bench.build();
    assert_eq!((set.get("a").unwrap().known, set.get("b").unwrap().known), (Known::No, Known::Yes));
    let workspace = bench.workspace();
    let error = workspace.apply(&set, &Choice::All, &bench.at("session")).unwrap_err();
    let ApplyError::Conflicts(conflicts) = error else { panic!("{error}") };
    assert_eq!(
        conflicts.iter().map(|c| (c.path.as_str(), c.cause)).collect::<Vec<_>>(),
        [("a", Cause::BaseUnknown)]
    );
    workspace.apply(&set, &Choice::files(["b"]), &bench.at("session")).unwrap();
}

#[test]
fn what_was_seen_once_stays_the_base() {
    let base = tree([("a", file("1\n2\n3\n4\n")), ("gone", file("x\n"))]);
    let bench = Bench::without_git(&base);
    write_upper(&bench, &tree([("a", file("1\n2\n3\nfour\n"))]));
    whiteout(&bench.layer().join("upper/gone"));
    let first = bench.build();
    put(&bench.repository(), "a", &file("one\n2\n3\n4\n"));
    let second = bench.build();
    assert_eq!(first, second);
    let workspace = bench.workspace();
    assert_eq!(
        workspace.patch(&second, &Choice::All).unwrap(),
        workspace.patch(&first, &Choice::All).unwrap()
    );
    let applied = workspace.apply(&second, &Choice::All, &bench.at("session")).unwrap();
    assert_eq!(applied.merged, ["a"]);
    assert_eq!(read(&bench.repository()), tree([("a", file("one\n2\n3\nfour\n"))]));
}

#[test]
fn an_index_written_after_the_opening_tells_nothing() {
    let bench = Bench::new(&tree([("a", file("1\n")), ("b", file("1\n"))]));
    put(&bench.repository(), "a", &file("2\n"));
    assert!(git(&bench.repository(), &["add", "a"]).status.success());
    assert!(!record_unclean(&bench.repository(), &bench.layer()).unwrap());
    write_upper(&bench, &tree([("a", file("3\n"))]));
    assert_eq!(bench.build().get("a").unwrap().known, Known::No);
}

#[test]
fn a_blob_that_is_not_the_file_s_bytes_is_no_base() {
    let bench = Bench::new(&tree([(".gitattributes", file("*.txt text eol=crlf\n"))]));
    let bench = reopened(bench, |bench| {
        put(&bench.repository(), "a.txt", &file("1\r\n2\r\n"));
        commit(&bench.repository());
    });
    assert!(record_unclean(&bench.repository(), &bench.layer()).unwrap());
    write_upper(&bench, &tree([("a.txt", file("1\r\ntwo\r\n"))]));
    put(&bench.repository(), "a.txt", &file("one\r\n2\r\n"));
    assert_eq!(bench.build().get("a.txt").unwrap().known, Known::No);
}

#[test]
fn a_file_moved_into_place_is_seen_although_it_is_old() {
    let base = tree([("dir/a", file("1\n2\n3\n")), ("other/a", file("x\ny\nz\n"))]);
    let bench = Bench::new(&base);
    assert!(record_unclean(&bench.repository(), &bench.layer()).unwrap());
    write_upper(&bench, &tree([("dir/a", file("1\n2\nthree\n"))]));
    // The files keep their times; only the directories know.
    fs::rename(bench.repository().join("dir"), bench.at("away")).unwrap();
    fs::rename(bench.repository().join("other"), bench.repository().join("dir")).unwrap();
    let set = bench.build();
    assert_eq!((set.insertions, set.deletions), (1, 1), "against the file that was there at opening");
    let error = bench.workspace().apply(&set, &Choice::All, &bench.at("session")).unwrap_err();
    assert!(matches!(error, ApplyError::Conflicts(_)), "{error}");
}

#[test]
fn a_layer_without_an_opening_is_an_error() {
    let bench = Bench::without_git(&tree([("a", file("1\n"))]));
    fs::remove_dir_all(bench.layer().join("base")).unwrap();
    let error = Workspace::open(&bench.repository(), &bench.layer()).unwrap_err();
    assert!(matches!(error, ChangeSetError::NotRecorded { .. }), "{error}");
}
