//! The file tools.
use crate::support::{Bench, Inside, everyone};
use enclos_sandbox::file::{Entry, Hit, Kind};
use enclos_sandbox::{FaultKind, FileError, FileOp, FileReply};

fn read(path: &str, offset_line: u64, limit_lines: u32, max_bytes: u32) -> FileOp {
    FileOp::Read { path: path.into(), offset_line, limit_lines, max_bytes }
}

fn write(path: &str, content: &str) -> FileOp {
    FileOp::Write { path: path.into(), content: content.into() }
}

fn edit(path: &str, old: &str, new: &str) -> FileOp {
    FileOp::Edit { path: path.into(), old: old.into(), new: new.into() }
}

fn grep(regex: &str, path: &str, include: Option<&str>) -> FileOp {
    FileOp::Grep { regex: regex.into(), path: path.into(), include: include.map(Into::into) }
}

fn refused(inside: &Inside, op: &FileOp) -> FaultKind {
    match inside.file(op) {
        Err(FileError::Refused(fault)) => {
            assert!(!fault.message.is_empty());
            fault.kind
        }
        other => panic!("{op:?}: {other:?}"),
    }
}

#[test]
fn reads_lines_with_bounds() {
    everyone("files::reads_lines_with_bounds", || {
        let bench = Bench::new();
        let many = (1..=5000).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
        bench.write("many.txt", &many);
        bench.write("wide.txt", &"é".repeat(100));
        bench.write("empty.txt", "");
        std::fs::write(bench.repository().join("binary"), b"a\0b\xff").expect("written");
        let inside = bench.open();
        let reply = inside.file(&read("f1.txt", 1, 10, 1000)).expect("read");
        assert_eq!(
            reply,
            FileReply::Read { text: "file 1\n".into(), first_line: 1, lines: 1, more: false, size: 7 }
        );
        let FileReply::Read { text, lines, more, .. } =
            inside.file(&read("many.txt", 4000, 2, 1000)).expect("read")
        else {
            panic!()
        };
        assert_eq!((text.as_str(), lines, more), ("line 4000\nline 4001\n", 2, true));
        let FileReply::Read { lines, more, .. } =
            inside.file(&read("many.txt", 1, 9_999, 10 << 20)).expect("read")
        else {
            panic!()
        };
        assert_eq!((lines, more), (2000, true), "never more than the bound");
        let FileReply::Read { text, more, .. } = inside.file(&read("wide.txt", 1, 5, 7)).expect("read")
        else {
            panic!()
        };
        assert_eq!((text.as_str(), more), ("ééé", true), "cut at a character");
        assert!(matches!(
            inside.file(&read("empty.txt", 1, 5, 7)),
            Ok(FileReply::Read { lines: 0, more: false, .. })
        ));
        assert_eq!(refused(&inside, &read("binary", 1, 5, 100)), FaultKind::NotText);
        assert_eq!(refused(&inside, &read("f1.txt", 50, 5, 100)), FaultKind::BadArgument);
        assert_eq!(refused(&inside, &read("gone", 1, 5, 100)), FaultKind::NotFound);
        assert_eq!(refused(&inside, &read(".", 1, 5, 100)), FaultKind::WrongKind);
        let bytes = inside.file(&FileOp::ReadBytes { path: "binary".into(), max: 3 }).expect("read");
        assert_eq!(bytes, FileReply::Bytes { size: 4, bytes: b"a\0b".to_vec() });
    });
}

#[test]
fn no_path_and_no_link_leads_out() {
    everyone("files::no_path_and_no_link_leads_out", || {
        let bench = Bench::new();
        bench.write("real.txt", "real\n");
        for (link, target) in [
            ("out", "/etc/passwd"),
            ("up", "../../../../etc/passwd"),
            ("usr", "/usr"),
            ("proc", "/proc/self/root/etc/passwd"),
            ("fine", "real.txt"),
        ] {
            std::os::unix::fs::symlink(target, bench.repository().join(link)).expect("linked");
        }
        let inside = bench.open();
        for path in
            ["out", "up", "usr/lib/os-release", "proc", "/etc/passwd", "/proc/1/environ", "../etc/passwd"]
        {
            assert_eq!(refused(&inside, &read(path, 1, 5, 100)), FaultKind::LeadsOut, "{path}");
        }
        assert!(
            matches!(inside.file(&read("fine", 1, 5, 100)), Ok(FileReply::Read { text, .. }) if text == "real\n")
        );
        assert_eq!(refused(&inside, &write("usr/x", "x")), FaultKind::LeadsOut);
        assert_eq!(refused(&inside, &write("out", "x")), FaultKind::WrongKind, "never through a link");
        assert_eq!(refused(&inside, &write("fine", "x")), FaultKind::WrongKind);
        assert_eq!(refused(&inside, &edit("fine", "real", "x")), FaultKind::WrongKind);
        let stat = inside.file(&FileOp::Stat { path: "out".into() }).expect("told, not followed");
        assert!(
            matches!(stat, FileReply::Stat(Entry { kind: Kind::Link, target: Some(target), .. }) if target == "/etc/passwd")
        );
        inside.file(&FileOp::Delete { path: "usr".into(), recursive: true }).expect("the link goes");
        assert_eq!(inside.out("ls /usr/bin/env"), "/usr/bin/env\n");
        inside.file(&write("/tmp/x", "t")).expect("the private folder is open to tools");
        assert_eq!(inside.out("cat /tmp/x"), "t");
    });
}

#[test]
fn writes_whole_files_and_keeps_modes() {
    everyone("files::writes_whole_files_and_keeps_modes", || {
        let bench = Bench::new();
        let inside = bench.open();
        inside.out("printf 'a\\n' > run.sh; chmod 755 run.sh");
        let reply = inside.file(&write("run.sh", "b\n")).expect("written");
        assert_eq!(reply, FileReply::Written { bytes: 2, created: false });
        let reply = inside.file(&write("new/deep/file.txt", "hello")).expect("written");
        assert_eq!(reply, FileReply::Written { bytes: 5, created: true });
        assert_eq!(
            inside.out("stat -c %a run.sh new/deep/file.txt; cat run.sh new/deep/file.txt"),
            "755\n644\nb\nhello"
        );
        assert_eq!(inside.out("find . -name '.enclos*'"), "");
        assert_eq!(refused(&inside, &write("new", "x")), FaultKind::WrongKind);
        assert_eq!(refused(&inside, &write(".", "x")), FaultKind::WrongKind);
        assert_eq!(refused(&inside, &write("f1.txt/x", "x")), FaultKind::WrongKind);
        let big = "x".repeat(5 << 20);
        inside.file(&write("big", &big)).expect("a large file");
        assert_eq!(inside.out("stat -c %s big"), format!("{}\n", 5 << 20));
        assert_eq!(refused(&inside, &write("big", &"x".repeat(9 << 20))), FaultKind::TooLarge);
        assert_eq!(std::fs::read(bench.repository().join("f1.txt")).expect("there"), b"file 1\n");
        assert!(!bench.repository().join("new").exists(), "the repository is as it was");
    });
}

#[test]
fn edits_one_exact_place() {
    everyone("files::edits_one_exact_place", || {
        let bench = Bench::new();
        bench.write("code.rs", "fn a() {}\nfn b() {}\nfn a2() {}\n");
        let inside = bench.open();
        let reply = inside.file(&edit("code.rs", "fn b() {}", "fn c() {}")).expect("edited");
        assert_eq!(reply, FileReply::Edited { line: 2 });
        assert_eq!(refused(&inside, &edit("code.rs", "fn ", "x")), FaultKind::ManyMatches);
        assert_eq!(refused(&inside, &edit("code.rs", "fn z", "x")), FaultKind::NoMatch);
        assert_eq!(refused(&inside, &edit("code.rs", "", "x")), FaultKind::BadArgument);
        assert_eq!(refused(&inside, &edit("gone.rs", "a", "x")), FaultKind::NotFound);
        assert_eq!(inside.out("cat code.rs"), "fn a() {}\nfn c() {}\nfn a2() {}\n");
    });
}

#[test]
fn lists_globs_and_greps() {
    everyone("files::lists_globs_and_greps", || {
        let bench = Bench::new();
        bench.write(".gitignore", "ignored/\n*.log\n");
        bench.write("ignored/x.rs", "needle\n");
        bench.write("a.log", "needle\n");
        bench.write("src/a.rs", "// a needle\n\n// two needles: needle\n");
        bench.write("src/deep/b.rs", "nothing\n");
        bench.write("src/.hidden.rs", "needle\n");
        std::fs::write(bench.repository().join("src/bin"), b"needle\0").expect("written");
        let inside = bench.open();
        let FileReply::List { entries, left_out } =
            inside.file(&FileOp::List { path: "src".into() }).expect("listed")
        else {
            panic!()
        };
        let names: Vec<_> = entries.iter().map(|entry| (entry.name.as_str(), entry.kind)).collect();
        let expected = [
            (".hidden.rs", Kind::File),
            ("a.rs", Kind::File),
            ("bin", Kind::File),
            ("deep", Kind::Directory),
        ];
        assert_eq!((names.as_slice(), left_out), (expected.as_slice(), 0));
        let glob = |pattern: &str, path: &str| {
            let op = FileOp::Glob { pattern: pattern.into(), path: path.into() };
            let FileReply::Glob { paths, more } = inside.file(&op).expect("found") else { panic!() };
            assert!(!more);
            paths
        };
        assert_eq!(glob("**/*.rs", "."), ["src/.hidden.rs", "src/a.rs", "src/deep/b.rs"]);
        assert_eq!(glob("*.rs", "src/deep"), ["src/deep/b.rs"]);
        assert_eq!(glob("*.log", "."), [""; 0]);
        let FileReply::Grep { hits, more } = inside.file(&grep("needle", ".", None)).expect("found") else {
            panic!()
        };
        let hit = |path: &str, line, text: &str| Hit { path: path.into(), line, text: text.into() };
        let expected = [
            hit("src/.hidden.rs", 1, "needle"),
            hit("src/a.rs", 1, "// a needle"),
            hit("src/a.rs", 3, "// two needles: needle"),
        ];
        assert_eq!((hits.as_slice(), more), (expected.as_slice(), false));
        let FileReply::Grep { hits, .. } = inside.file(&grep("^//", "src", Some("deep/*"))).expect("found")
        else {
            panic!()
        };
        assert_eq!(hits, []);
        assert!(
            matches!(inside.file(&grep("two", "src/a.rs", None)), Ok(FileReply::Grep { hits, .. }) if hits.len() == 1)
        );
        assert_eq!(refused(&inside, &grep("(", ".", None)), FaultKind::BadArgument);
        let start = std::time::Instant::now();
        inside.out("head -c 1000000 /dev/zero | tr '\\0' a > long");
        inside.file(&grep("(a|aa)+$b", "long", None)).expect("linear");
        assert!(start.elapsed() < std::time::Duration::from_secs(30));
    });
}

#[test]
fn many_entries_are_counted() {
    everyone("files::many_entries_are_counted", || {
        let bench = Bench::new();
        let inside = bench.open();
        inside.out("mkdir many; cd many; for i in $(seq 1100); do echo hit > f$i; done");
        assert!(matches!(
            inside.file(&FileOp::List { path: "many".into() }),
            Ok(FileReply::List { entries, left_out: 100 }) if entries.len() == 1000
        ));
        let op = FileOp::Glob { pattern: "*".into(), path: "many".into() };
        assert!(matches!(inside.file(&op), Ok(FileReply::Glob { paths, more: true }) if paths.len() == 1000));
        let op = grep("hit", "many", None);
        assert!(matches!(inside.file(&op), Ok(FileReply::Grep { hits, more: true }) if hits.len() == 200));
    });
}

#[test]
fn traps_are_only_files_of_another_kind() {
    everyone("files::traps_are_only_files_of_another_kind", || {
        let bench = Bench::new();
        let inside = bench.open();
        inside.out("mkfifo pipe; mkdir -p deep; cd deep; for i in $(seq 60); do mkdir dddddddddd; cd dddddddddd; done; echo x > f");
        inside.out("ln -s loop loop; truncate -s 5G huge; printf 'a\\xffb' > odd.txt; touch $'odd\\xffname'");
        assert_eq!(refused(&inside, &read("pipe", 1, 5, 100)), FaultKind::WrongKind);
        assert_eq!(refused(&inside, &write("pipe", "x")), FaultKind::WrongKind);
        assert_eq!(refused(&inside, &read("loop", 1, 5, 100)), FaultKind::LeadsOut);
        assert_eq!(refused(&inside, &read("odd.txt", 1, 5, 100)), FaultKind::NotText);
        assert_eq!(refused(&inside, &edit("huge", "a", "b")), FaultKind::TooLarge);
        assert!(matches!(
            inside.file(&FileOp::ReadBytes { path: "huge".into(), max: 10 }),
            Ok(FileReply::Bytes { bytes, size }) if bytes.len() == 10 && size == 5 << 30
        ));
        let FileReply::List { entries, .. } =
            inside.file(&FileOp::List { path: ".".into() }).expect("listed")
        else {
            panic!()
        };
        assert!(entries.iter().any(|entry| entry.name == "odd\\xffname"));
        assert!(entries.iter().any(|entry| entry.name == "pipe" && entry.kind == Kind::Special));
        inside.file(&grep("x", ".", None)).expect("the pipe does not hold it up");
        assert_eq!(
            refused(&inside, &FileOp::Delete { path: "deep".into(), recursive: false }),
            FaultKind::WrongKind
        );
        let deleted = inside.file(&FileOp::Delete { path: "deep".into(), recursive: true }).expect("deleted");
        assert_eq!(deleted, FileReply::Deleted { entries: 62 });
        assert_eq!(
            inside.file(&FileOp::Delete { path: "f2.txt".into(), recursive: false }).expect("deleted"),
            FileReply::Deleted { entries: 1 }
        );
        assert_eq!(inside.run("ls deep f2.txt").out, "");
        assert!(bench.repository().join("f2.txt").exists());
    });
}

#[test]
fn several_tools_at_once() {
    everyone("files::several_tools_at_once", || {
        let bench = Bench::new();
        let inside = bench.open();
        std::thread::scope(|scope| {
            for number in 0..8 {
                let inside = &inside;
                scope.spawn(move || {
                    let reply = inside.file(&read(&format!("f{number}.txt"), 1, 10, 1000)).expect("read");
                    assert!(
                        matches!(reply, FileReply::Read { text, .. } if text == format!("file {number}\n"))
                    );
                });
            }
        });
    });
}
