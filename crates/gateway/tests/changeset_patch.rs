//! The exported patch, judged by git: it must take `base` to exactly `after`, and back.

mod changeset_support;

use std::fs;

use changeset_support::{Bench, Tree, any_tree, file, git, link, program, read, tree, write};
use enclos_gateway::changeset::{ChangeSet, Choice, Kind};
use proptest::prelude::*;

/// Builds the change set, has git apply its patch to a checkout of the base, and compares. Gives back the set and
/// the patch.
fn forward(base: &Tree, after: &Tree) -> (ChangeSet, String) {
    judge(base, after, false)
}

/// The same, and the patch is taken back as well. (Git cannot take back its own patch where a file becomes a link, or
/// an empty file could be executed.)
fn there_and_back(base: &Tree, after: &Tree) -> (ChangeSet, String) {
    judge(base, after, true)
}

fn judge(base: &Tree, after: &Tree, back: bool) -> (ChangeSet, String) {
    let bench = Bench::without_git(base);
    bench.session(base, after);
    let set = bench.build();
    let patch = bench.workspace().patch(&set, &Choice::All).unwrap();
    assert_eq!(patch.omitted, []);
    let text = String::from_utf8_lossy(&patch.bytes).into_owned();
    if patch.bytes.is_empty() {
        assert_eq!(base, after);
        return (set, text);
    }
    let checkout = bench.at("checkout");
    fs::create_dir_all(&checkout).unwrap();
    write(&checkout, base);
    git(&checkout, &["init", "-q"]);
    let saved = bench.at("patch");
    fs::write(&saved, &patch.bytes).unwrap();
    let apply = |option: &str| {
        let output = git(&checkout, &["apply", option, saved.to_str().unwrap()]);
        assert!(output.status.success(), "{}\n{text}", String::from_utf8_lossy(&output.stderr));
    };
    apply("--check");
    apply("--apply");
    assert_eq!(&read(&checkout), after, "{text}");
    if back {
        apply("--reverse");
        assert_eq!(&read(&checkout), base, "{text}");
    }
    assert_eq!(read(&bench.repository()), *base, "the person's tree is untouched");
    (set, text)
}

fn kinds(set: &ChangeSet) -> Vec<(&str, Kind)> {
    set.files.iter().map(|file| (file.path.as_str(), file.kind)).collect()
}

fn numbered(lines: usize) -> String {
    (1..=lines).map(|n| n.to_string() + "\n").collect()
}

#[test]
fn texts_added_changed_and_deleted() {
    let base = tree([("a.txt", file("one\ntwo\nthree\n")), ("gone", file("x\n")), ("kept", file("k\n"))]);
    let after = tree([
        ("a.txt", file("one\n2\nthree\n")),
        ("kept", file("k\n")),
        ("new/nested/deep.txt", file("new\n")),
        ("run.sh", program("#!/bin/sh\n")),
    ]);
    let (set, text) = there_and_back(&base, &after);
    assert_eq!(
        kinds(&set),
        [
            ("a.txt", Kind::Modified),
            ("gone", Kind::Deleted),
            ("new/nested/deep.txt", Kind::Added),
            ("run.sh", Kind::Added)
        ]
    );
    assert_eq!((set.insertions, set.deletions), (3, 2));
    assert!(text.contains("new file mode 100755"), "{text}");
    assert!(text.contains("deleted file mode 100644"), "{text}");
    assert_eq!(set.files[3].flags, ["new-execute-bit"]);
}

#[test]
fn endings_of_files_and_lines() {
    let base = tree([
        ("crlf", file("a\r\nb\r\n")),
        ("cut", file("a\nb\n")),
        ("ended", file("a\nb")),
        ("both", file("a\nb")),
        ("emptied", file("x\n")),
        ("filled", file("")),
        ("gone", file("")),
        ("form", file("a\x0cb\n")),
        ("latin", file(b"caf\xe9\n")),
    ]);
    let after = tree([
        ("crlf", file("a\r\nB\r\nc\n")),
        ("cut", file("a\nb")),
        ("ended", file("a\nb\n")),
        ("both", file("a\nc")),
        ("emptied", file("")),
        ("filled", file("x")),
        ("fresh", file("")),
        ("form", file("a\x0cc\rd\n")),
        ("latin", file(b"th\xe9\n")),
    ]);
    let (_, text) = there_and_back(&base, &after);
    assert!(text.contains("\\ No newline at end of file"), "{text}");
}

#[test]
fn binaries_in_both_directions() {
    let noise = |seed: u32| -> Vec<u8> {
        (0..5000_u32)
            .map(|n| n.wrapping_mul(2_654_435_761).wrapping_add(seed << 16).to_be_bytes()[1])
            .collect()
    };
    let with_nul = |seed| [vec![0], noise(seed)].concat();
    let base =
        tree([("changed", file(with_nul(1))), ("gone", file(with_nul(2))), ("text", file("was text\n"))]);
    let after = tree([
        ("changed", file(with_nul(3))),
        ("fresh", program(with_nul(4))),
        ("text", file("now\0binary")),
        ("one", file([0])),
    ]);
    let (set, text) = there_and_back(&base, &after);
    assert!(set.files.iter().all(|file| file.binary && file.insertions == 0));
    assert_eq!(text.matches("GIT binary patch").count(), 5);
}

#[test]
fn renames_whole_edited_and_made_executable() {
    let text = numbered(100);
    let base = tree([
        ("old/whole.txt", file(&text)),
        ("old/edited.txt", file(format!("first {text}"))),
        ("tool", file(format!("second {text}"))),
        ("blob", file([0, 1, 2, 3])),
        ("unlike", file("a\nb\nc\nd\n")),
    ]);
    let after = tree([
        ("new/whole.txt", file(&text)),
        ("new/edited name.txt", file(format!("first {text}").replace("50\n", "fifty\n"))),
        ("bin/tool", program(format!("second {text}"))),
        ("moved/blob", file([0, 1, 2, 3])),
        ("other", file("w\nx\ny\nz\n")),
    ]);
    let (set, patch) = there_and_back(&base, &after);
    let renamed = |path: &str| {
        let file = set.get(path).unwrap();
        (file.kind, file.old_path.as_deref().unwrap_or_default().to_owned(), file.similarity)
    };
    assert_eq!(renamed("new/whole.txt"), (Kind::Renamed, "old/whole.txt".to_owned(), Some(100)));
    assert_eq!(renamed("bin/tool"), (Kind::Renamed, "tool".to_owned(), Some(100)));
    assert_eq!(renamed("moved/blob"), (Kind::Renamed, "blob".to_owned(), Some(100)));
    let (kind, old, likeness) = renamed("new/edited name.txt");
    assert_eq!((kind, old.as_str()), (Kind::Renamed, "old/edited.txt"));
    assert!((90..100).contains(&likeness.unwrap()), "{likeness:?}");
    assert_eq!(set.get("other").unwrap().kind, Kind::Added);
    assert_eq!(set.get("unlike").unwrap().kind, Kind::Deleted);
    assert!(patch.contains("rename from old/edited.txt\nrename to new/edited name.txt\n"), "{patch}");
    assert!(patch.contains("old mode 100644\nnew mode 100755\nsimilarity index 100%\n"), "{patch}");
}

#[test]
fn modes_and_links() {
    let base = tree([
        ("plain", file("x\n")),
        ("edited", program("x\n")),
        ("link", link("plain")),
        ("to-file", link("plain")),
        ("to-link", file("content\n")),
        ("gone", link("nowhere")),
    ]);
    let after = tree([
        ("plain", program("x\n")),
        ("edited", file("y\n")),
        ("link", link("edited")),
        ("to-file", file("content\n")),
        ("to-link", link("plain")),
        ("fresh", link("../outside")),
        ("inside/fresh", link("../plain")),
    ]);
    let (set, text) = forward(&base, &after);
    assert_eq!(
        kinds(&set),
        [
            ("edited", Kind::Modified),
            ("fresh", Kind::Added),
            ("gone", Kind::Deleted),
            ("inside/fresh", Kind::Added),
            ("link", Kind::Modified),
            ("plain", Kind::ModeChanged),
            ("to-file", Kind::TypeChanged),
            ("to-link", Kind::TypeChanged),
        ]
    );
    assert!(text.contains("new file mode 120000"), "{text}");
    assert_eq!(set.get("fresh").unwrap().flags, ["link-leaves-tree"]);
    assert_eq!(set.get("inside/fresh").unwrap().flags, Vec::<String>::new());
    assert_eq!(set.get("plain").unwrap().flags, ["new-execute-bit"]);
}

#[test]
fn directories_and_files_take_each_other_s_place() {
    let base =
        tree([("dir/a", file("1\n")), ("dir/sub/b", file("2\n")), ("file", file("3\n")), ("l", link("dir"))]);
    let after = tree([("dir", file("now a file\n")), ("file/x/y", file("4\n")), ("l/z", file("5\n"))]);
    forward(&base, &after);
    forward(&after, &base);
}

#[test]
fn names_of_every_shape() {
    let names = [
        "été",
        "two words",
        " leading",
        "trailing ",
        "tab\there",
        "quote\"d",
        "back\\slash",
        "line\nfeed",
        "bell\x07",
        "a b/a b",
        "x b/x b/y",
        "日本/語",
        "--dash",
        "dev/null",
        "a/b",
        "b/a",
        "😀",
    ];
    let base: Tree = names.iter().map(|name| ((*name).to_owned(), file("old\n"))).collect();
    let edited: Tree = names.iter().map(|name| ((*name).to_owned(), file("new\n"))).collect();
    let modes: Tree = names.iter().map(|name| ((*name).to_owned(), program("old\n"))).collect();
    let empty = Tree::new();
    for (from, to) in [(&base, &edited), (&base, &modes), (&base, &empty), (&empty, &base)] {
        there_and_back(from, to);
    }
    let unique = |tag: &str| -> Tree {
        names.iter().enumerate().map(|(n, name)| (format!("{tag}{name}"), file(numbered(20 + n)))).collect()
    };
    let (set, _) = there_and_back(&unique("from/"), &unique("to/"));
    assert!(set.files.iter().all(|file| file.kind == Kind::Renamed));
}

#[test]
fn a_long_file_with_scattered_edits() {
    let old = numbered(10_000);
    let new: String = (1..=10_000)
        .filter(|n| n % 997 != 0)
        .map(|n| if n % 500 == 0 { format!("{n} edited\n") } else { format!("{n}\n") })
        .collect();
    let (set, text) = there_and_back(&tree([("long", file(&old))]), &tree([("long", file(&new))]));
    assert_eq!((set.insertions, set.deletions), (20, 30));
    assert_eq!(text.matches("\n@@ ").count(), 28, "997 and 1000, 1994 and 2000 are near enough to share one");
}

#[test]
fn a_part_of_a_change_set_is_a_patch_too() {
    let base = tree([("a", file("1\n")), ("b", file("2\n"))]);
    let after = tree([("a", file("one\n")), ("b", file("two\n")), ("c", file("three\n"))]);
    let bench = Bench::new(&base);
    bench.session(&base, &after);
    let set = bench.build();
    let patch = bench.workspace().patch(&set, &Choice::files(["a", "c"])).unwrap();
    let saved = bench.at("patch");
    fs::write(&saved, patch.bytes).unwrap();
    assert!(git(&bench.repository(), &["apply", saved.to_str().unwrap()]).status.success());
    let expected = tree([("a", file("one\n")), ("b", file("2\n")), ("c", file("three\n"))]);
    assert_eq!(read(&bench.repository()), expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn git_takes_every_patch(base in any_tree(), after in any_tree()) {
        forward(&base, &after);
    }
}
