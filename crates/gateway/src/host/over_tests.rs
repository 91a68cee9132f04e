//! Trees against bases.
use super::*;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

struct Bench {
    dir: tempfile::TempDir,
    base: Manifest,
}

impl Bench {
    /// A tree that is its base.
    fn new() -> Self {
        let mut bench = Self { dir: tempfile::tempdir().unwrap(), base: Manifest::default() };
        for (path, text) in
            [("same", "1"), ("changed", "2"), ("gone", "3"), ("d/a", "4"), ("d/b", "5"), ("e/f/g", "6")]
        {
            bench.both(path, text);
        }
        bench
    }

    fn both(&mut self, path: &str, text: &str) {
        self.write(path, text);
        let digest = Sha256::digest(text).into();
        let known = Known { form: Form::Plain, size: text.len() as u64, digest };
        self.base.entries.insert(path.as_bytes().to_vec(), known);
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    fn compare(&self, shown: &Shown) -> Over {
        compare(self.dir.path(), shown, &self.base).unwrap()
    }

    /// What is brought, a word each.
    fn brought(&self) -> Vec<String> {
        let word = |(path, thing): (String, Thing)| match thing {
            Thing::Directory(_) => format!("{path}/"),
            Thing::File(_) => path,
            Thing::Link => format!("{path}@"),
            Thing::Removed => format!("-{path}"),
        };
        self.compare(&Shown::default()).things.into_iter().map(word).collect()
    }
}

#[test]
fn a_tree_that_is_its_base_brings_nothing() {
    assert_eq!(Bench::new().brought(), Vec::<String>::new());
}

#[test]
fn what_differs_is_brought_with_its_directories() {
    let bench = Bench::new();
    bench.write("changed", "other");
    bench.write("same", "2");
    fs::remove_file(bench.at("gone")).unwrap();
    fs::remove_file(bench.at("d/a")).unwrap();
    fs::remove_dir_all(bench.at("e")).unwrap();
    bench.write("new/deep/file", "x");
    fs::create_dir(bench.at("empty")).unwrap();
    assert_eq!(
        bench.brought(),
        ["changed", "d/", "-d/a", "-e", "empty/", "-gone", "new/", "new/deep/", "new/deep/file", "same"]
    );
}

#[test]
fn kinds_that_take_the_place_of_others_are_brought() {
    let bench = Bench::new();
    fs::remove_dir_all(bench.at("e")).unwrap();
    symlink("/etc", bench.at("e")).unwrap();
    fs::remove_file(bench.at("gone")).unwrap();
    bench.write("gone/now/a/directory", "x");
    fs::set_permissions(bench.at("same"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(bench.brought(), ["e@", "gone/", "gone/now/", "gone/now/a/", "gone/now/a/directory", "same"]);
}

#[test]
fn what_is_hidden_here_is_not_brought_there_and_not_in_the_base_either() {
    let mut bench = Bench::new();
    bench.both("d/hidden", "secret");
    bench.write("target/debug/x", "x");
    bench.write("notes", "x");
    let shown = Shown {
        hidden: vec!["d/hidden".into(), "notes".into()],
        dependencies: vec!["target".into()],
        ..Shown::default()
    };
    let over = bench.compare(&shown);
    let things: Vec<_> = over.things.iter().map(|(path, thing)| (path.as_str(), *thing)).collect();
    assert!(matches!(things[..], [("d", Thing::Directory(_)), ("d/hidden", Thing::Removed)]), "{things:?}");
    assert_eq!(over.hidden().len(), 3);
    assert!(over.notes().iter().any(|note| note.contains("target")), "{:?}", over.notes());
}

#[test]
fn credentials_stay_here_by_name_or_by_what_they_hold() {
    let bench = Bench::new();
    let begin = ["-----BEGIN", "PRIVATE KEY-----"].join(" ");
    let end = ["-----END", "PRIVATE KEY-----"].join(" ");
    bench.write("plain.txt", &format!("x\n{begin}\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n{end}\n"));
    for path in [".env", "a/.env.local", "a/ID_RSA", "server.key", "x.PEM", "aws/credentials"] {
        bench.write(path, "x");
    }
    for path in [".env.example", "a/keys.rs", "environment", "monkey"] {
        bench.write(path, "x");
    }
    let over = bench.compare(&Shown::default());
    assert_eq!(
        over.left.credentials,
        [".env", "a/.env.local", "a/ID_RSA", "aws/credentials", "plain.txt", "server.key", "x.PEM"]
    );
    for path in [".env.example", "a/keys.rs", "environment", "monkey"] {
        assert!(over.things.contains_key(path), "{path}");
    }
    assert_eq!(over.hidden().len(), 7);
}

#[test]
fn git_folders_and_special_files_are_never_brought() {
    let bench = Bench::new();
    bench.write(".git/config", "x");
    bench.write("sub/.GIT/config", "x");
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, bench.at("pipe"), pipe, rustix::fs::Mode::RUSR, 0).unwrap();
    let over = bench.compare(&Shown::default());
    assert_eq!(over.things.keys().collect::<Vec<_>>(), ["sub"]);
    assert_eq!(over.left.special, ["pipe"]);
}
