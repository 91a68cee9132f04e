//! Bases made from real histories, whole or cut short.
use super::*;
use crate::host::orders::Naming;
use std::fs;
use std::process::{Command, Stdio};

/// Git in a person's repository.
#[expect(clippy::disallowed_methods, reason = "the repository of this test is made by git itself")]
fn git(folder: &Path, arguments: &[&str], input: &str) -> Vec<u8> {
    use std::io::Write;
    let mut child = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-C"])
        .arg(folder)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    output.stdout
}

struct Bench {
    root: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir(bench.repo()).unwrap();
        git(&bench.repo(), &["init", "-q"], "");
        bench.write("src/lib.rs", "one\r\n");
        bench.write(".gitattributes", "*.rs text eol=lf\n*.bin filter=evil\n");
        bench.write("x.bin", "raw");
        std::os::unix::fs::symlink("src/lib.rs", bench.repo().join("link")).unwrap();
        bench
    }

    fn repo(&self) -> PathBuf {
        self.root.path().join("repo")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.repo().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn commit(&self) -> Commit {
        git(&self.repo(), &["add", "."], "");
        git(&self.repo(), &["update-index", "--chmod=+x", "x.bin"], "");
        git(&self.repo(), &["commit", "-qm", "m"], "");
        let commit = String::from_utf8(git(&self.repo(), &["rev-parse", "HEAD"], "")).unwrap();
        Commit { project: "p".into(), commit: commit.trim().to_owned(), naming: Naming::Sha1 }
    }

    fn pack(&self, commit: &Commit, have: &[String]) -> Vec<u8> {
        let mut wanted = format!("{}\n", commit.commit);
        for known in have {
            wanted.push('^');
            wanted.push_str(known);
            wanted.push('\n');
        }
        git(&self.repo(), &["pack-objects", "--revs", "--stdout", "--thin", "-q"], &wanted)
    }

    fn bases(&self) -> Bases {
        Bases::new(self.root.path().join("bases"))
    }
}

#[test]
fn a_base_holds_the_bytes_of_the_commit_and_its_manifest_says_so() {
    let bench = Bench::new();
    let (bases, commit) = (bench.bases(), bench.commit());
    assert_eq!(bases.find(7, &commit).unwrap().unwrap_err(), Vec::<String>::new());
    bases.take(7, &commit, &mut bench.pack(&commit, &[]).as_slice()).unwrap();
    let base = bases.find(7, &commit).unwrap().unwrap();
    assert_eq!(fs::read(base.tree().join("src/lib.rs")).unwrap(), b"one\n", "as in the history");
    assert_eq!(fs::read_link(base.tree().join("link")).unwrap(), Path::new("src/lib.rs"));
    assert!(base.index().exists() && base.objects().exists());
    let manifest = Manifest::from_bytes(&base.manifest().unwrap()).unwrap();
    let forms: Vec<_> = manifest.entries.iter().map(|(path, known)| (path.as_slice(), known.form)).collect();
    assert_eq!(
        forms,
        [
            (&b".gitattributes"[..], Form::Plain),
            (b"link", Form::Link),
            (b"src/lib.rs", Form::Plain),
            (b"x.bin", Form::Executable),
        ]
    );
    let digest: [u8; 32] = Sha256::digest(b"one\n").into();
    assert_eq!(manifest.entries[&b"src/lib.rs"[..]], Known { form: Form::Plain, size: 4, digest });

    bench.write("new", "two");
    let next = bench.commit();
    let have = bases.find(7, &next).unwrap().unwrap_err();
    assert_eq!(have, std::slice::from_ref(&commit.commit), "only what is new has to come");
    bases.take(7, &next, &mut bench.pack(&next, &have).as_slice()).unwrap();
    assert!(bases.find(7, &next).unwrap().unwrap().tree().join("new").exists());
    assert!(!base.tree().join("new").exists());
    assert_eq!(bases.find(8, &next).unwrap().unwrap_err(), Vec::<String>::new(), "another person's project");
}

#[test]
fn a_history_with_holes_or_damage_makes_no_base() {
    let bench = Bench::new();
    let (bases, first) = (bench.bases(), bench.commit());
    bench.write("new", "two");
    let second = bench.commit();
    let thin = bench.pack(&second, std::slice::from_ref(&first.commit));
    assert!(bases.take(7, &second, &mut thin.as_slice()).is_err(), "what it rests on is not there");
    let mut damaged = bench.pack(&second, &[]);
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    assert!(bases.take(7, &second, &mut damaged.as_slice()).is_err());
    assert!(bases.find(7, &second).unwrap().is_err());
    for (project, commit) in [("..", "a"), ("p/q", "a"), ("", "a"), ("p", "main"), ("p", "--help")] {
        let name = if commit == "a" { "a".repeat(40) } else { commit.to_owned() };
        let bad = Commit { project: project.into(), commit: name, naming: Naming::Sha1 };
        assert!(bases.find(7, &bad).is_err(), "{project} {commit}");
    }
}

#[test]
fn what_was_cut_short_is_swept_and_what_is_whole_stays() {
    let bench = Bench::new();
    let (bases, commit) = (bench.bases(), bench.commit());
    bases.take(7, &commit, &mut bench.pack(&commit, &[]).as_slice()).unwrap();
    let base = bases.find(7, &commit).unwrap().unwrap();
    let half = base.folder.with_extension("new");
    fs::create_dir_all(half.join("upper")).unwrap();
    let nameless = base.folder.with_file_name("0".repeat(40));
    fs::create_dir_all(nameless.join("upper")).unwrap();
    bases.sweep();
    assert!(!half.exists() && !nameless.exists() && base.tree().exists());
}
