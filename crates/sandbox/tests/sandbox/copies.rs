//! The workspace as a copy: what is in it, what is not, and that a session in it changes what it would in an overlay.
use crate::support::{Bench, everyone, is_root, until};
use enclos_sandbox::layer::{Entry, Layer};
use enclos_sandbox::{OpenError, Prefer, Step, Workspace, open};
use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

fn copied() -> Bench {
    let mut bench = Bench::new();
    bench.plan.workspace_by = Prefer::Copy;
    bench
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("a mode");
}

fn refused(bench: &Bench) -> OpenError {
    match open(&bench.plan) {
        Ok(_) => panic!("it opens"),
        Err(error) => error,
    }
}

/// What changed, in words that hold for any layer.
fn changes(bench: &Bench) -> Vec<String> {
    let hidden: BTreeSet<String> = bench.plan.hidden.iter().map(|path| path.display().to_string()).collect();
    let layer = Layer::open(bench.repository(), &bench.plan.layer, hidden).expect("a layer");
    let found = layer.changes(&mut |_, _| true).expect("changes");
    let word = |entry: &Option<Entry>| match entry {
        None => "-".to_owned(),
        Some(entry) => format!("{:?} {} {}", entry.kind, entry.executable(), entry.size),
    };
    let content = |path: &str| {
        let link = layer.upper().target(path).ok();
        let bytes =
            link.or_else(|| std::io::read_to_string(layer.upper().file(path).ok()?).ok().map(Into::into));
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    };
    let lines = found.changes.iter().map(|change| {
        let after = change.after.map(|_| content(&change.path)).unwrap_or_default();
        format!(
            "{}: {} -> {} {after:?} {}",
            change.path,
            word(&change.before),
            word(&change.after),
            change.hidden
        )
    });
    let refusals = found.refused.iter().map(|refused| format!("{}: {}", refused.path, refused.reason));
    lines.chain(refusals).collect()
}

/// A tree with everything that can be changed.
fn furnish(bench: &mut Bench) {
    for (path, text) in [
        ("dir/a.txt", "a\n"),
        ("dir/deep/b.txt", "b\n"),
        ("dir/deep/c.txt", "c\n"),
        ("gone/x", "x\n"),
        ("gone/inner/y", "y\n"),
        ("swap1/s", "one\n"),
        ("swap2/s", "two\n"),
        ("moved/m1", "m1\n"),
        ("moved/m2", "m2\n"),
        ("tofile/t", "t\n"),
        ("tolink/t", "t\n"),
        ("again/kept", "kept\n"),
        ("again/lost", "lost\n"),
        (".env", "SECRET=1\n"),
        ("private/key", "k\n"),
        ("sub/.git/config", "[core]\n"),
        ("sub/file", "f\n"),
        ("run.sh", "#!/bin/sh\n"),
        ("closed", "closed\n"),
    ] {
        bench.write(path, text);
    }
    std::fs::write(bench.repository().join("binary"), [0, 1, 2, 0xff]).expect("a file");
    symlink("f1.txt", bench.repository().join("link")).expect("a link");
    symlink("/nowhere", bench.repository().join("far")).expect("a link");
    mode(&bench.repository().join("run.sh"), 0o755);
    bench.plan.hidden = [".env", "private", "sub/.git"].iter().map(PathBuf::from).collect();
}

/// Everything that a session may do to it.
const WORK: &str = "set -e; echo more >> f1.txt; rm f2.txt; mv f3.txt g3.txt; printf 'file X\\n' > f4.txt; \
    chmod +x f5.txt; chmod -x run.sh; cat f6.txt > t; mv t f6.txt; echo x > tmp; rm tmp; touch f7.txt; \
    rm -r gone; mkdir newdir; echo n > newdir/n; mv swap1 t; mv swap2 swap1; mv t swap2; mv moved elsewhere; \
    rm -r tofile; echo file > tofile; rm -r tolink; ln -s f1.txt tolink; rm f8.txt; mkdir f8.txt; echo in > f8.txt/in; \
    rm -r again; mkdir again; echo kept > again/kept; echo new > again/new; ln -sfn f0.txt link; rm far; echo far > far; \
    printf '\\0\\1\\3' > binary; echo mine > .env; mkdir private; echo z > private/key; mkfifo pipe; \
    ln -s .git/config gitlink; mkdir -p sub2/.git; echo c > sub2/.git/config; echo o > \"$(printf 'odd\\377')\"; \
    ln f0.txt hard; mkdir dir/empty; echo b2 > dir/deep/b.txt; cat f0.txt > f0.new; mv f0.new f0.txt; chmod 600 closed";

#[test]
fn a_session_changes_the_same_in_a_copy_as_in_an_overlay() {
    everyone("copies::a_session_changes_the_same_in_a_copy_as_in_an_overlay", || {
        let [overlay, copy] = [Prefer::Overlay, Prefer::Copy].map(|by| {
            let mut bench = Bench::new();
            bench.plan.workspace_by = by;
            furnish(&mut bench);
            let inside = bench.open();
            assert_eq!(inside.sandbox.report().workspace == Workspace::Overlay, by == Prefer::Overlay);
            let seen = inside.out("find . | sort; cat dir/deep/b.txt; stat -c '%A %U' run.sh dir f1.txt link; find / -name key 2>/dev/null; true");
            drop(inside);
            assert_eq!(changes(&bench), Vec::<String>::new(), "{by:?}: nothing was done yet");
            let inside = bench.open();
            inside.out(WORK);
            let after = inside.out("find . | sort");
            drop(inside);
            (seen, after, changes(&bench))
        });
        assert_eq!(overlay.0, copy.0);
        assert_eq!(overlay.1, copy.1);
        assert_eq!(overlay.2, copy.2);
        assert!(copy.2.len() > 30, "{copy:?}");
        for line in [
            "g3.txt: - -> File false 7",
            "pipe: a named pipe",
            "sub2/.git: a git directory",
            "gitlink: a link into",
        ] {
            assert!(copy.2.iter().any(|found| found.starts_with(line)), "{line}: {copy:?}");
        }
    });
}

#[test]
fn a_change_right_after_the_opening_is_seen() {
    everyone("copies::a_change_right_after_the_opening_is_seen", || {
        for _ in 0..5 {
            let bench = copied();
            let inside = bench.open();
            inside.out("printf 'file Y\\n' | dd of=f1.txt conv=notrunc status=none; touch -r f2.txt f1.txt");
            drop(inside);
            assert_eq!(changes(&bench), ["f1.txt: File false 7 -> File false 7 \"file Y\\n\" false"]);
        }
    });
}

#[test]
fn a_copy_holds_what_may_be_seen_and_nothing_else() {
    everyone("copies::a_copy_holds_what_may_be_seen_and_nothing_else", || {
        let mut bench = copied();
        furnish(&mut bench);
        let repository = bench.repository().to_owned();
        bench.write("setuid", "x");
        mode(&repository.join("setuid"), 0o6755);
        bench.write("shut/inner/f", "f");
        if !is_root() {
            mode(&repository.join("shut/inner"), 0o000);
        }
        let sparse = std::fs::File::create_new(repository.join("sparse")).expect("a file");
        sparse.set_len(64 << 20).expect("a hole");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            repository.join("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .expect("a pipe");
        let inside = bench.open();
        let Workspace::Copy(copied) = inside.sandbox.report().workspace.clone() else { panic!("no copy") };
        assert_eq!(copied.since, "it was asked for");
        assert!(copied.left_out.contains(&"`fifo`: a named pipe".to_owned()), "{copied:?}");
        assert_eq!(
            inside.out("stat -c '%a %U %s' setuid sparse; readlink link far; ls -d .env private sub/.git fifo .git 2>/dev/null; true"),
            "755 agent 1\n644 agent 67108864\nf1.txt\n/nowhere\n"
        );
        let copy = bench.plan.layer.join("copy");
        assert!(copy.join("sparse").metadata().expect("there").blocks() < 2048, "it is sparse");
        assert_eq!(
            copy.join("f1.txt").metadata().expect("there").modified().expect("a time"),
            repository.join("f1.txt").metadata().expect("there").modified().expect("a time")
        );
        // The flags of the mount are the overlay's.
        let options = inside.out("grep ' /workspace ' /proc/self/mountinfo");
        assert!(options.contains("nosuid") && options.contains("nodev"), "{options}");
        let name = bench.root.path().file_name().expect("a name").to_string_lossy().into_owned();
        assert!(
            !inside.out("cat /proc/self/mountinfo").contains(&name),
            "the mount table names nothing of the host"
        );
        assert_ne!(inside.run("mknod d b 8 0").exit.code, Some(0));
        drop(inside);
        assert_eq!(changes(&bench), Vec::<String>::new());
        mode(&repository.join("shut/inner"), 0o700);
    });
}

#[test]
fn a_copy_is_state_that_the_next_opening_finds() {
    everyone("copies::a_copy_is_state_that_the_next_opening_finds", || {
        let mut bench = copied();
        bench.write("secret", "s\n");
        bench.write("both/secret", "s\n");
        bench.write("both/other", "o\n");
        std::fs::create_dir_all(bench.plan.layer.join("copy.new/half")).expect("an interrupted copy");
        std::fs::write(bench.plan.layer.join("copy.list"), "half").expect("a list without a copy");
        let inside = bench.open();
        inside.out("echo a > a; rm f1.txt; echo changed > both/secret; ls half 2>/dev/null || true");
        inside.sandbox.killer().kill_all();
        drop(inside);
        // What is asked for says nothing about a layer that was begun; what the tree has become does not either.
        bench.plan.workspace_by = Prefer::Overlay;
        bench.write("f2.txt", "changed outside\n");
        bench.plan.hidden = vec!["secret".into(), "both".into()];
        let inside = bench.open();
        assert!(
            matches!(&inside.sandbox.report().workspace, Workspace::Copy(made) if made.since == "it was asked for")
        );
        assert_eq!(
            inside.out("cat a f2.txt both/secret; ls f1.txt secret both/other 2>/dev/null || true"),
            "a\nfile 2\nchanged\n"
        );
        drop(inside);
        let found = changes(&bench);
        let paths: Vec<&str> = found.iter().filter_map(|line| line.split(':').next()).collect();
        assert_eq!(paths, ["a", "both/secret", "f1.txt"], "{found:?}");
        // A list that is not whole is no list.
        std::fs::write(bench.plan.layer.join("copy.list"), "half").expect("damaged");
        assert_eq!(refused(&bench).step, Step::Workspace);
        assert!(Layer::open(bench.repository(), &bench.plan.layer, BTreeSet::new()).is_err());
    });
}

#[test]
fn a_copy_that_would_be_too_large_is_not_begun_to_be_used() {
    everyone("copies::a_copy_that_would_be_too_large_is_not_begun_to_be_used", || {
        let mut bench = copied();
        std::fs::write(bench.repository().join("large"), vec![b'x'; 3 << 20]).expect("a file");
        bench.plan.limits.disk_bytes = 2 << 20;
        let error = refused(&bench);
        assert_eq!(error.step, Step::Workspace);
        assert!(error.message.contains("more than the 2 MiB") && !error.remedy().is_empty(), "{error}");
        for name in ["copy", "copy.new", "copy.list"] {
            assert!(!bench.plan.layer.join(name).exists(), "{name}");
        }
        bench.plan.hidden = vec!["large".into()];
        assert_eq!(bench.open().out("ls | wc -l"), "9\n");
    });
}

#[test]
fn a_layer_that_was_begun_as_an_overlay_never_becomes_a_copy() {
    everyone("copies::a_layer_that_was_begun_as_an_overlay_never_becomes_a_copy", || {
        let mut bench = Bench::new();
        bench.open().out("echo a > a");
        bench.plan.workspace_by = Prefer::Copy;
        let inside = bench.open();
        assert_eq!(inside.sandbox.report().workspace, Workspace::Overlay);
        assert_eq!(inside.out("cat a"), "a\n");
    });
}

/// Another file system in the tree is part of the tree, as it is for git.
#[test]
fn a_file_system_mounted_inside_the_repository_is_taken_in() {
    if !is_root() {
        return;
    }
    let bench = Bench::new();
    bench.write("data/below", "covered\n");
    let point = bench.repository().join("data");
    let mount = |arguments: &[&str]| {
        let status = std::process::Command::new(arguments[0]).args(&arguments[1..]).status().expect("mount");
        assert!(status.success(), "{arguments:?}");
    };
    let place = point.to_str().expect("text");
    mount(&["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place]);
    let result = std::panic::catch_unwind(|| {
        std::fs::create_dir(point.join("proc")).expect("a folder");
        mount(&["mount", "-t", "proc", "proc", &format!("{place}/proc")]);
        std::fs::write(point.join("in"), "in\n").expect("a file");
        let inside = bench.open();
        let Workspace::Copy(copied) = inside.sandbox.report().workspace.clone() else { panic!("no copy") };
        assert_eq!(copied.since, "another file system is mounted at `data`");
        assert_eq!(copied.left_out, ["`data/proc`: a file system that the kernel makes up"]);
        assert_eq!(
            inside.out("ls data; cat data/in; echo more >> data/in; echo new > data/new; rm f1.txt"),
            "in\nin\n"
        );
        drop(inside);
        let found = changes(&bench);
        let paths: Vec<&str> = found.iter().filter_map(|line| line.split(':').next()).collect();
        assert_eq!(paths, ["data/in", "data/new", "f1.txt"], "{found:?}");
    });
    mount(&["umount", "-R", place]);
    until("it is gone", || !point.join("in").exists());
    result.expect("it is taken in");
}
