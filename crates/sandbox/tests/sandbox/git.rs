//! The private git directory: right, fast, and without a way back. Skipped where the host has no git.
use crate::support::{Bench, everyone};
use enclos_sandbox::{Step, open};
use std::path::Path;

/// Runs git on the host, in a made-up environment. `None` when there is no git.
pub(crate) fn host(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = std::process::Command::new("git")
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", "/nonexistent")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .args(["-c", "user.name=P", "-c", "user.email=p@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .output()
        .ok()?;
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A repository with one commit; `None` when there is no git.
fn committed(format: &str) -> Option<Bench> {
    let mut bench = Bench::new();
    host(bench.repository(), &["init", "-q", &format!("--object-format={format}")])?;
    host(bench.repository(), &["add", "."])?;
    host(bench.repository(), &["commit", "-q", "-m", "one"])?;
    bench.plan.git = Some(bench.repository().join(".git"));
    Some(bench)
}

#[test]
fn status_diff_log_and_commit_work_and_nothing_comes_back() {
    everyone("git::status_diff_log_and_commit_work_and_nothing_comes_back", || {
        for format in ["sha1", "sha256"] {
            let Some(bench) = committed(format) else { return };
            let git = bench.repository().join(".git");
            host(bench.repository(), &["remote", "add", "origin", "https://user:pass@example.org/x"]);
            host(bench.repository(), &["config", "core.fsmonitor", "touch /tmp/enc-pwned; false"]);
            host(bench.repository(), &["branch", "other"]);
            host(bench.repository(), &["tag", "v1"]);
            host(bench.repository(), &["pack-refs", "--all"]);
            host(bench.repository(), &["branch", "loose"]);
            bench.write("f1.txt", "file 1\nuncommitted\n");
            bench.write("untracked.txt", "u\n");
            let before = host(bench.repository(), &["rev-parse", "HEAD"]).expect("git");
            let inside = bench.open();
            let has_git = inside.run("git --version").exit.code == Some(0);
            assert_eq!(inside.out("grep -c remote .git/config; true"), "0\n");
            if has_git {
                assert_eq!(inside.out("git status --porcelain"), " M f1.txt\n?? untracked.txt\n");
                assert_eq!(inside.out("git log --format=%s; git rev-parse HEAD"), format!("one\n{before}"));
                assert_eq!(
                    inside.out("git branch --format='%(refname:short)'; git tag"),
                    "loose\nmain\nother\nv1\n"
                );
                inside.out("git diff | grep -q '+uncommitted'; git commit -qam two; git gc -q; git fsck --no-progress; git checkout -q -b mine");
                assert_eq!(inside.out("git log --format='%s %an'"), "two Enclos agent\none P\n");
                inside.out("git update-ref -d refs/heads/other; git config core.hooksPath .git/hooks; echo bad > .git/HEAD");
            }
            inside.run(
                "rm -rf .git/refs; echo x > /run/git/0/x; chmod -R 777 /run/git/0; rm -rf /run/git/0/pack",
            );
            inside.sandbox.close();
            assert_eq!(
                host(bench.repository(), &["rev-parse", "HEAD", "other", "loose"]).expect("git"),
                before.repeat(3)
            );
            host(bench.repository(), &["-c", "core.fsmonitor=false", "fsck", "--strict"]);
            assert!(!bench.plan.layer.join("upper/.git").exists() && git.join("refs").exists());
            let again = bench.open();
            assert_eq!(
                again.run("cat .git/HEAD").out,
                "ref: refs/heads/main\n",
                "thrown away with the sandbox"
            );
        }
    });
}

#[test]
fn every_kind_of_repository() {
    everyone("git::every_kind_of_repository", || {
        let Some(bench) = committed("sha1") else { return };
        let root = bench.root.path().to_owned();
        // A linked worktree, on a branch of its own.
        host(bench.repository(), &["worktree", "add", "-q", "-b", "wt", "../linked"]);
        let mut linked = Bench::new();
        linked.plan.workspace = root.join("linked");
        linked.plan.git = Some(root.join("linked/.git"));
        let inside = linked.open();
        assert_eq!(inside.out("cat .git/HEAD; cat f1.txt"), "ref: refs/heads/wt\nfile 1\n");
        if inside.run("git --version").exit.code == Some(0) {
            assert_eq!(inside.out("git status --porcelain; git log --format=%s"), "one\n");
        }
        // A clone that borrows objects, with a detached head.
        host(&root, &["clone", "-q", "--shared", "repository", "borrower"]);
        host(&root.join("borrower"), &["checkout", "-q", "--detach"]);
        let mut borrower = Bench::new();
        borrower.plan.workspace = root.join("borrower");
        borrower.plan.git = Some(root.join("borrower/.git"));
        let inside = borrower.open();
        if inside.run("git --version").exit.code == Some(0) {
            assert_eq!(
                inside.run("git log --format=%s; git status --porcelain; git fsck --no-progress").out,
                "one\n"
            );
            assert_eq!(inside.run("git log").err, "", "no word about folders that are not there");
        }
        assert_eq!(inside.out("cat /run/git/0/info/alternates"), "", "no path of the host");
        // No commit yet.
        let mut empty = Bench::new();
        host(empty.repository(), &["init", "-q"]);
        empty.plan.git = Some(empty.repository().join(".git"));
        let inside = empty.open();
        if inside.run("git --version").exit.code == Some(0) {
            assert!(inside.out("git status --porcelain").starts_with("?? f0.txt\n"));
        }
    });
}

#[test]
fn forged_git_directories_show_nothing_of_the_host() {
    everyone("git::forged_git_directories_show_nothing_of_the_host", || {
        let Some(bench) = committed("sha1") else { return };
        let git = bench.repository().join(".git");
        let home = bench.root.path().join("home");
        std::fs::create_dir_all(home.join(".ssh")).expect("a home");
        std::fs::write(home.join(".ssh/id"), "key").expect("a key");
        let refused = |what: &str| match open(&bench.plan) {
            Err(error) => assert_eq!(error.step, Step::Git, "{what}: {error}"),
            Ok(_) => panic!("{what}: it opens"),
        };
        let alternates = git.join("objects/info/alternates");
        std::fs::write(&alternates, format!("{}\n", home.display())).expect("written");
        refused("objects borrowed from a home");
        std::fs::remove_file(&alternates).expect("removed");
        std::fs::create_dir_all(git.join("info")).expect("made");
        let _ = std::fs::remove_file(git.join("info/exclude"));
        std::os::unix::fs::symlink(home.join(".ssh/id"), git.join("info/exclude")).expect("linked");
        refused("excludes that are a link");
        std::fs::remove_file(git.join("info/exclude")).expect("removed");
        std::fs::write(git.join("HEAD"), "key material\n").expect("written");
        refused("a head that is none");
        std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n").expect("written");
        assert_eq!(bench.open().out("cat .git/HEAD"), "ref: refs/heads/main\n");

        // A `.git` file that points at somebody else's repository.
        let mut other = Bench::new();
        std::fs::create_dir(bench.repository().join(".git/worktrees")).expect("made");
        let worktree = git.join("worktrees/w");
        std::fs::create_dir(&worktree).expect("made");
        std::fs::write(worktree.join("commondir"), "../..\n").expect("written");
        std::fs::write(worktree.join("HEAD"), "ref: refs/heads/main\n").expect("written");
        std::fs::write(worktree.join("gitdir"), "/elsewhere/.git\n").expect("written");
        std::fs::write(other.repository().join(".git"), format!("gitdir: {}\n", worktree.display()))
            .expect("written");
        other.plan.git = Some(other.repository().join(".git"));
        assert_eq!(open(&other.plan).expect_err("refused").step, Step::Git);
    });
}

/// What git keeps of a file of Git LFS is a pointer: the file itself, in its place, is no change.
#[test]
fn a_file_of_git_lfs_does_not_look_changed() {
    everyone("git::a_file_of_git_lfs_does_not_look_changed", || {
        let Some(bench) = committed("sha1") else { return };
        let pointer = "version https://git-lfs.github.com/spec/v1\n\
                       oid sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\nsize 5\n";
        bench.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
        bench.write("pointer.bin", pointer);
        host(bench.repository(), &["add", "."]);
        // As it lies there once its content was fetched: git keeps the pointer, and knows the file's own size.
        bench.write("smudged.bin", "hello");
        let clean = format!("filter.lfs.clean=printf '{}'", pointer.replace('\n', "\\n"));
        host(bench.repository(), &["-c", &clean, "add", "smudged.bin"]);
        host(bench.repository(), &["commit", "-q", "-m", "lfs"]);
        let inside = bench.open();
        if inside.run("git --version").exit.code != Some(0) {
            return;
        }
        assert_eq!(inside.out("cat smudged.bin; head -c 7 pointer.bin"), "helloversion");
        assert_eq!(inside.out("touch smudged.bin pointer.bin; git status --porcelain"), "");
        assert_eq!(inside.out("printf other > smudged.bin; git status --porcelain"), " M smudged.bin\n");
        assert_eq!(
            inside.out("git commit -qam new; git show HEAD:smudged.bin | cut -c1-24"),
            "version https://git-lfs.\noid sha256:d9298a10d1b07\nsize 5\n"
        );
    });
}
