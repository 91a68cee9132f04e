//! Layers built by hand: each mark that an overlay writes, and what an agent might forge.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};

use super::{Changes, Kind, Layer, Reason, Special};

/// A base tree and a layer directory, thrown away with it.
struct Bench {
    root: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("base")).unwrap();
        fs::create_dir_all(root.path().join("layer/upper")).unwrap();
        Self { root }
    }

    fn base(&self, path: &str, content: &str) {
        put(&self.root.path().join("base").join(path), content);
    }

    fn upper(&self, path: &str, content: &str) {
        put(&self.root.path().join("layer/upper").join(path), content);
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.root.path().join(path)
    }

    /// The mark for "removed": a device where that may be made, else the attribute.
    fn whiteout(&self, path: &str) -> bool {
        let path = self.at("layer/upper").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if mknodat(CWD, &path, FileType::CharacterDevice, Mode::empty(), 0).is_ok() {
            return true;
        }
        put(&path, "");
        mark(&path, "user.overlay.whiteout", b"y")
    }

    fn layer(&self, hidden: &[&str]) -> Result<Layer, super::LayerError> {
        let hidden = hidden.iter().map(|path| (*path).to_owned()).collect();
        Layer::open(&self.at("base"), &self.at("layer"), hidden)
    }

    fn walk(&self) -> Changes {
        self.layer(&[]).unwrap().changes(&mut |_, _| true).unwrap()
    }
}

fn put(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// Sets an attribute; false where the file system has none, which the caller says and passes by.
fn mark(path: &Path, name: &str, value: &[u8]) -> bool {
    let set = setxattr(path, name, value, XattrFlags::empty()).is_ok();
    if !set {
        eprintln!("this file system keeps no `{name}`: case passed by");
    }
    set
}

/// `+path` added, `-path` removed, `~path` changed.
fn lines(changes: &Changes) -> Vec<String> {
    let sign = |change: &super::RawChange| match (&change.before, &change.after) {
        (None, _) => '+',
        (_, None) => '-',
        _ => '~',
    };
    changes.changes.iter().map(|change| format!("{}{}", sign(change), change.path)).collect()
}

fn refusals(changes: &Changes) -> Vec<(&str, Reason)> {
    changes.refused.iter().map(|refused| (refused.path.as_str(), refused.reason)).collect()
}

#[test]
fn added_changed_removed_and_same() {
    let bench = Bench::new();
    for path in ["same", "changed", "gone", "deep/er/gone", "deep/kept"] {
        bench.base(path, "old\n");
    }
    bench.upper("same", "old\n");
    bench.upper("changed", "new\n");
    bench.upper("new/in/a/directory", "x");
    if bench.whiteout("gone") && bench.whiteout("deep/er") && bench.whiteout("never") {
        let found = bench.walk();
        assert_eq!(lines(&found), ["~changed", "-deep/er/gone", "-gone", "+new/in/a/directory"]);
        assert_eq!(found.refused, []);
    }
}

#[test]
fn both_forms_of_whiteout() {
    let bench = Bench::new();
    bench.base("a", "1");
    bench.base("b", "2");
    bench.upper("a", "");
    if mark(&bench.at("layer/upper/a"), "user.overlay.whiteout", b"y") {
        assert_eq!(lines(&bench.walk()), ["-a"]);
    }
    // A file with content is a file, whatever its attributes claim.
    bench.upper("b", "content");
    if mark(&bench.at("layer/upper/b"), "user.overlay.whiteout", b"y") {
        assert_eq!(lines(&bench.walk()), ["-a", "~b"]);
    }
}

#[test]
fn an_opaque_directory_hides_what_it_does_not_hold() {
    let bench = Bench::new();
    for path in ["d/a", "d/b", "d/sub/c", "d/sub/d"] {
        bench.base(path, "old");
    }
    bench.upper("d/a", "old");
    bench.upper("d/sub/d", "new");
    if mark(&bench.at("layer/upper/d"), "user.overlay.opaque", b"y") {
        assert_eq!(lines(&bench.walk()), ["-d/b", "-d/sub/c", "~d/sub/d"]);
    }
    if mark(&bench.at("layer/upper/d"), "user.overlay.opaque", b"x") {
        assert_eq!(lines(&bench.walk()), ["~d/sub/d"]);
    }
}

#[test]
fn kinds_replace_one_another() {
    let bench = Bench::new();
    bench.base("dir/a", "1");
    bench.base("dir/b", "2");
    bench.base("file", "3");
    bench.base("target", "4");
    symlink("target", bench.at("base/link")).unwrap();
    bench.upper("dir", "now a file");
    bench.upper("file/inside", "now a directory");
    bench.upper("link", "now a file");
    symlink("target", bench.at("layer/upper/fresh")).unwrap();
    let found = bench.walk();
    assert_eq!(lines(&found), ["+dir", "-dir/a", "-dir/b", "-file", "+file/inside", "+fresh", "~link"]);
    assert_eq!(found.changes[6].before.unwrap().kind, Kind::Link);
}

#[test]
fn only_the_executable_bit_of_a_mode_counts() {
    let bench = Bench::new();
    for (path, mode) in [("same", 0o600), ("run", 0o755), ("set", 0o6755), ("both", 0o4644)] {
        bench.base(path, "x");
        bench.upper(path, "x");
        fs::set_permissions(bench.at("layer/upper").join(path), Permissions::from_mode(mode)).unwrap();
    }
    let found = bench.walk();
    assert_eq!(lines(&found), ["~run", "~set"]);
    assert!(!found.changes[0].after.unwrap().privileged());
    assert!(found.changes[1].after.unwrap().privileged());
}

#[test]
fn what_cannot_travel_is_refused_by_name() {
    let bench = Bench::new();
    bench.base("kept", "x");
    bench.upper("plain", "x");
    bench.upper("vendor/.Git/config", "[core]");
    fs::create_dir_all(bench.at("layer/upper/.git")).unwrap();
    symlink("../.git/hooks", bench.at("layer/upper/hooks")).unwrap();
    let upper = bench.at("layer/upper");
    mknodat(CWD, upper.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    mknodat(CWD, upper.join("kept"), FileType::Socket, Mode::RUSR, 0).unwrap();
    let bad = std::os::unix::ffi::OsStrExt::from_bytes(b"bad\xff");
    fs::write(upper.join::<&std::ffi::OsStr>(bad), "x").unwrap();
    let found = bench.walk();
    assert_eq!(lines(&found), ["+plain"]);
    assert_eq!(
        refusals(&found),
        [
            ("bad\u{fffd}", Reason::NotUtf8),
            ("hooks", Reason::LinkToGit),
            ("kept", Reason::Special(Special::Socket)),
            ("pipe", Reason::Special(Special::Fifo)),
            ("vendor/.Git", Reason::GitDirectory),
        ]
    );
}

#[test]
fn files_of_nothing_but_holes_are_refused_before_they_fill_a_disk() {
    let bench = Bench::new();
    bench.base("c", "c\n");
    for name in ["a", "b", "c", "small"] {
        bench.upper(name, "x");
        let long = if name == "small" { 5 } else { 9 << 30 };
        fs::File::options()
            .write(true)
            .open(bench.at(&format!("layer/upper/{name}")))
            .unwrap()
            .set_len(long)
            .unwrap();
    }
    let found = bench.walk();
    let names: Vec<&str> = found.changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!((names.len(), names.contains(&"small")), (2, true), "{names:?}");
    let reasons: Vec<_> = refusals(&found).into_iter().map(|(_, reason)| reason).collect();
    assert_eq!(reasons, [Reason::TooLarge, Reason::TooLarge]);
}

#[test]
fn a_git_directory_with_anything_in_it_is_refused_even_at_the_root() {
    let bench = Bench::new();
    bench.base(".git/config", "x");
    bench.upper(".git/config", "[core]\n\tfsmonitor = evil\n");
    assert_eq!(refusals(&bench.walk()), [(".git", Reason::GitDirectory)]);
}

#[test]
fn redirections_are_refused() {
    let bench = Bench::new();
    bench.base("old/a", "1");
    bench.upper("moved/b", "2");
    if mark(&bench.at("layer/upper/moved"), "user.overlay.redirect", b"/old") {
        let found = bench.walk();
        assert_eq!(lines(&found), Vec::<String>::new());
        assert_eq!(refusals(&found), [("moved", Reason::Redirect)]);
    }
}

#[test]
fn a_link_on_the_way_is_never_followed() {
    let bench = Bench::new();
    bench.base("outside/secret", "x");
    fs::create_dir_all(bench.at("elsewhere")).unwrap();
    put(&bench.at("elsewhere/file"), "outside");
    symlink(bench.at("elsewhere"), bench.at("base/link")).unwrap();
    symlink(bench.at("elsewhere"), bench.at("layer/upper/up")).unwrap();
    bench.upper("link/file", "outside");
    let found = bench.walk();
    assert_eq!(lines(&found), ["-link", "+link/file", "+up"]);
    let layer = bench.layer(&[]).unwrap();
    assert!(layer.upper().file("up/file").is_err());
    assert!(layer.base().file("../elsewhere/file").is_err());
    assert!(layer.base().file("link/file").is_err());
    assert_eq!(layer.base().entry("link/file").unwrap(), None);
}

#[test]
fn hidden_files_are_neither_removed_nor_silently_replaced() {
    let bench = Bench::new();
    for path in ["open", "secrets/key", "secrets/other", "env"] {
        bench.base(path, "mine");
    }
    bench.upper("env", "theirs");
    bench.upper("secrets/key", "theirs");
    bench.upper("secrets/new", "theirs");
    mark(&bench.at("layer/upper/secrets"), "user.overlay.opaque", b"y");
    let found = bench.layer(&["env", "secrets"]).unwrap().changes(&mut |_, _| true).unwrap();
    assert_eq!(lines(&found), ["~env", "~secrets/key", "+secrets/new"]);
    assert_eq!(found.changes.iter().map(|change| change.hidden).collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn what_the_caller_leaves_out_is_counted() {
    let bench = Bench::new();
    bench.base("build/old", "x");
    bench.upper("build/new", "x");
    bench.upper("log", "x");
    bench.upper("src", "x");
    let layer = bench.layer(&[]).unwrap();
    let found = layer.changes(&mut |path, _| path != "build" && path != "log").unwrap();
    assert_eq!(lines(&found), ["+src"]);
    assert_eq!(found.left_out, 2);
}

#[test]
fn a_layer_that_is_not_there_is_an_error() {
    let bench = Bench::new();
    let error = Layer::open(&bench.at("base"), &bench.at("nothing"), BTreeSet::new()).unwrap_err();
    assert!(error.to_string().starts_with("cannot open the directory `"), "{error}");
}

/// What a session does with ordinary tools.
const WORK: &str = "
    echo new > edited
    rm gone
    rm -r emptied
    rm -r remade && mkdir remade && echo fresh > remade/fresh
    mv moved elsewhere
    mv folder renamed
    chmod +x script
    ln -s edited link
    rm -r to-file && echo file > to-file
    rm to-directory && mkdir to-directory && echo x > to-directory/x
    touch touched
    mkdir nothing-in-it
    echo temporary > temporary && rm temporary
";

/// Runs [`WORK`] in an overlay as the workspace mounts it; false where that cannot be done here.
#[expect(clippy::disallowed_methods, reason = "a mount needs a namespace, and so a process, of its own")]
fn work_in_an_overlay(bench: &Bench) -> bool {
    let script = format!(
        "mount -t overlay overlay -o lowerdir=base,upperdir=layer/upper,workdir=layer/work,userxattr,\
         redirect_dir=nofollow,metacopy=off,index=off tree || exit 99
         cd tree || exit 98
         set -e\n{WORK}"
    );
    let status = std::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .current_dir(bench.root.path())
        .status();
    match status.map(|status| status.code()) {
        Ok(Some(0)) => true,
        other => {
            assert!(!matches!(other, Ok(Some(98))), "the overlay was mounted but cannot be entered");
            eprintln!("no overlay can be mounted here ({other:?}): case passed by");
            false
        }
    }
}

#[test]
fn what_a_real_overlay_writes_is_read() {
    let bench = Bench::new();
    for path in [
        "edited",
        "gone",
        "emptied/a/b",
        "remade/old",
        "moved",
        "folder/x",
        "script",
        "to-file/y",
        "to-directory",
    ] {
        bench.base(path, &format!("content of {path}"));
    }
    bench.base("touched", "touched");
    bench.base("untouched", "untouched");
    fs::create_dir_all(bench.at("layer/work")).unwrap();
    fs::create_dir_all(bench.at("tree")).unwrap();
    if !work_in_an_overlay(&bench) {
        return;
    }
    let found = bench.walk();
    assert_eq!(
        lines(&found),
        [
            "~edited",
            "+elsewhere",
            "-emptied/a/b",
            "-folder/x",
            "-gone",
            "+link",
            "-moved",
            "+remade/fresh",
            "-remade/old",
            "+renamed/x",
            "~script",
            "-to-directory",
            "+to-directory/x",
            "+to-file",
            "-to-file/y",
        ]
    );
    assert_eq!(found.refused, []);
}
