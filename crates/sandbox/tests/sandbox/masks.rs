//! Files that are masked: no program finds or reads them until they are unmasked, and then every program does.
use crate::support::{Bench, Inside, everyone};
use enclos_sandbox::file::{FileOp, FileReply};
use enclos_sandbox::layer::Layer;
use enclos_sandbox::{Prefer, Unmasked};
use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;

/// What must never be read.
const CANARY: &str = "canary-of-the-masked-plan-41c7";
/// A part of the masked names that is in no other.
const NAME: &str = "zebra";
/// All that is masked in [`bench`].
const MASKED: [&str; 7] = [
    "zebra-folder",
    "zebra-folder/plan.txt",
    "zebra-folder/deep",
    "zebra-folder/deep/second.txt",
    "mixed/zebra.bin",
    "other-name-of-zebra.txt",
    "pointer-to-zebra",
];

/// Ways to read it, each a line for bash. What one of them needs and is not there makes it fail, which is as well.
const WAYS: [&str; 62] = [
    "cat zebra-folder/plan.txt",
    "cat ./zebra-folder/../zebra-folder/plan.txt",
    "cat /workspace/zebra-folder/plan.txt",
    "cat zebra-folder/* mixed/* ./*",
    "cat ZEBRA-FOLDER/PLAN.TXT Zebra-Folder/plan.txt",
    "cat $'\\x7aebra-folder/plan.txt'",
    "cat other-name-of-zebra.txt",
    "cat pointer-to-zebra; readlink pointer-to-zebra",
    "cat mixed/zebra.bin",
    "ls -laR . | grep zebra",
    "find . -name '*zebra*'; find . -inum $(stat -c %i mixed)",
    "find / -xdev -name '*zebra*' 2>/dev/null; find / -name plan.txt 2>/dev/null",
    "grep -r canary-of . --include=* -a",
    "grep -ra canary-of-the /proc/1/root /proc/self/root/workspace /proc/self/cwd 2>/dev/null",
    "ln -s zebra-folder/plan.txt l1; cat l1",
    "ln -s /workspace/zebra-folder l2; cat l2/plan.txt",
    "ln zebra-folder/plan.txt l3; cat l3",
    "ln other-name-of-zebra.txt l4; cat l4",
    "ln -L pointer-to-zebra l5; cat l5",
    "cp -a . /tmp/all; grep -ra canary-of /tmp/all; rm -rf /tmp/all",
    "cp -rL mixed /tmp/m; cat /tmp/m/zebra.bin",
    "tar cf - . | grep -a canary-of",
    "tar cf - -h zebra-folder | grep -a canary-of",
    "cpio -o < <(find .) 2>/dev/null | grep -a canary-of",
    "zip -qr - . | gunzip -c 2>/dev/null | grep -a canary-of",
    "rsync -a zebra-folder/ /tmp/r/; cat /tmp/r/*",
    "mv mixed moved; cat moved/zebra.bin; ls -la moved; mv moved mixed; cat mixed/zebra.bin",
    "mkdir q; mv mixed q/; cat q/mixed/zebra.bin; mv q/mixed .; rmdir q; cat mixed/zebra.bin",
    "rm -rf mixed; mkdir mixed; ls -A mixed; cat mixed/zebra.bin",
    "mkdir zebra-folder; ls -lA zebra-folder; cat zebra-folder/plan.txt; rmdir zebra-folder",
    "mkdir zebra-folder; touch zebra-folder/x; rm -rf zebra-folder; ls zebra-folder; cat zebra-folder/plan.txt",
    "touch zebra-folder; rm zebra-folder; cat zebra-folder/plan.txt",
    "echo x > mixed/zebra.bin; rm -f mixed/zebra.bin; cat mixed/zebra.bin",
    ": >> mixed/zebra.bin; cat mixed/zebra.bin; rm -f mixed/zebra.bin",
    "dd if=mixed/zebra.bin conv=notrunc 2>&1; truncate -s 100 mixed/zebra.bin; strings mixed/zebra.bin; rm -f mixed/zebra.bin",
    "touch mixed/.wh.zebra.bin; rm mixed/.wh.zebra.bin; cat mixed/zebra.bin",
    "touch mixed/.wh..wh..opq; cat mixed/zebra.bin; rm mixed/.wh..wh..opq",
    "mknod mixed/zebra.bin c 0 0; rm -f mixed/zebra.bin; cat mixed/zebra.bin",
    "setfattr -n user.overlay.opaque -v n mixed; setfattr -x user.overlay.opaque mixed; cat mixed/zebra.bin",
    "setfattr -n user.overlay.redirect -v /zebra-folder mixed; ls -la mixed; cat mixed/plan.txt",
    "setfattr -n user.overlay.metacopy mixed/open.txt; setfattr -n user.overlay.origin -v x mixed; cat mixed/*",
    "setfattr -n trusted.overlay.opaque -v n .; setfattr -n trusted.overlay.redirect -v /zebra-folder mixed; cat mixed/*",
    "python3 -c \"import os; os.setxattr('mixed', 'user.overlay.redirect', b'/zebra-folder'); print(os.listdir('mixed'))\"",
    "cat /proc/self/root/workspace/zebra-folder/plan.txt /proc/1/root/workspace/zebra-folder/plan.txt",
    "cat /proc/1/cwd/zebra-folder/plan.txt /proc/*/cwd/zebra-folder/plan.txt",
    "for fd in /proc/*/fd/*; do timeout 1 head -c 65536 $fd 2>/dev/null < /dev/null; done | grep -a canary-of",
    "for f in /proc/*/map_files/*; do head -c 4096 $f; done 2>/dev/null | grep -a canary-of",
    "grep -a canary-of /proc/*/mem /proc/kcore /dev/mem 2>/dev/null",
    "ls -la /layer ../layer /mask ../mask ../lower /lower /old /oldroot /.old /run 2>/dev/null; cat /lower/zebra-folder/plan.txt ../lower/zebra-folder/plan.txt",
    "mount --bind zebra-folder mixed; cat mixed/plan.txt",
    "unshare -Urm sh -c 'mount -t overlay -o lowerdir=/workspace o /mnt; cat /mnt/zebra-folder/plan.txt'",
    "unshare -Urm sh -c 'umount -l /workspace; cat /workspace/zebra-folder/plan.txt'; umount /workspace; umount -l /workspace",
    "mount -o remount,lowerdir=/ /workspace; cat zebra-folder/plan.txt; nsenter -t 1 -m cat /workspace/zebra-folder/plan.txt",
    "python3 -c \"import ctypes; l=ctypes.CDLL(None, use_errno=True); print(l.syscall(428, -100, b'/workspace', 1), l.syscall(304, 3, b'0'*64, 0), l.syscall(303, -100, b'mixed', b'0'*136, b'0'*8, 0), ctypes.get_errno())\"; cat mixed/zebra.bin",
    "python3 -c \"import mmap,os; f=os.open('mixed/zebra.bin', os.O_RDONLY); print(mmap.mmap(f, 0, prot=mmap.PROT_READ)[:])\"",
    "python3 -c \"import os; d=os.open('mixed', os.O_PATH); print(os.stat('zebra.bin', dir_fd=d)); f=os.open('zebra.bin', os.O_RDONLY, dir_fd=d); print(os.read(f, 99))\"",
    "printf 'all:\\n\\tcat zebra-folder/plan.txt\\ninclude mixed/zebra.bin\\n' > Makefile; make 2>&1; rm Makefile",
    "printf '#include \"mixed/zebra.bin\"\\n' > t.c; gcc -E t.c 2>&1; cc t.c 2>&1; rm t.c; printf '.incbin \"mixed/zebra.bin\"\\n' > t.s; as t.s -o t.o && strings t.o; rm -f t.s t.o",
    "bash -c '. mixed/zebra.bin'; bash mixed/zebra.bin; source zebra-folder/plan.txt; awk 1 mixed/zebra.bin; sed '' mixed/zebra.bin; sort mixed/zebra.bin",
    "diff mixed/open.txt mixed/zebra.bin; cmp mixed/open.txt mixed/zebra.bin; wc -c mixed/zebra.bin; stat mixed/zebra.bin; file mixed/zebra.bin",
    "(for i in $(seq 300); do mv mixed mx; mv mx mixed; done) & for i in $(seq 600); do cat mixed/zebra.bin mx/zebra.bin; done 2>/dev/null; wait",
    "(for i in $(seq 300); do ln -sfn /workspace/mixed sw; ln -sfn /workspace/zebra-folder sw; touch mixed/zebra.bin; rm -f mixed/zebra.bin; done) & for i in $(seq 600); do cat sw/plan.txt sw/zebra.bin; done 2>/dev/null; wait; rm -f sw",
];

fn bench(by: Prefer) -> Bench {
    let mut bench = Bench::new();
    bench.plan.workspace_by = by;
    bench.write("zebra-folder/plan.txt", CANARY);
    bench.write("zebra-folder/deep/second.txt", CANARY);
    bench.write("mixed/zebra.bin", CANARY);
    bench.write("mixed/open.txt", "open\n");
    let root = bench.repository().to_owned();
    std::fs::hard_link(root.join("zebra-folder/plan.txt"), root.join("other-name-of-zebra.txt"))
        .expect("linked");
    symlink("zebra-folder/plan.txt", root.join("pointer-to-zebra")).expect("linked");
    std::fs::set_permissions(root.join("mixed/zebra.bin"), PermissionsExt::from_mode(0o755)).expect("a mode");
    bench.plan.masked = MASKED.iter().map(PathBuf::from).collect();
    bench
}

fn files() -> Vec<PathBuf> {
    MASKED
        .iter()
        .filter(|path| !["zebra-folder", "zebra-folder/deep"].contains(path))
        .map(PathBuf::from)
        .collect()
}

/// What a command wrote, and nothing of the secret in it.
fn harmless(inside: &Inside, way: &str) {
    let ran = inside.run(way);
    for text in [&ran.out, &ran.err] {
        assert!(!text.contains(CANARY), "`{way}` read it: {ran:?}");
    }
}

fn changed(bench: &Bench, hidden: &[&str], unmasked: &[&str]) -> Vec<(String, bool, bool, bool)> {
    let set = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<BTreeSet<String>>();
    let layer = Layer::open(bench.repository(), &bench.plan.layer, set(hidden)).expect("a layer");
    let found = layer.with_unmasked(set(unmasked)).changes(&mut |_, _| true).expect("a walk");
    let line = |change: enclos_sandbox::layer::RawChange| {
        (change.path, change.before.is_some(), change.after.is_some(), change.hidden)
    };
    found.changes.into_iter().map(line).collect()
}

#[test]
fn no_program_reads_a_masked_file_and_every_one_does_once_it_is_unmasked() {
    everyone("masks::no_program_reads_a_masked_file_and_every_one_does_once_it_is_unmasked", || {
        for by in [Prefer::OverlayAlone, Prefer::Copy] {
            let bench = bench(by);
            let inside = bench.open();
            for way in WAYS {
                harmless(&inside, way);
            }
            let names = inside.out("find . | sort; ls -A; stat -c %h .");
            assert!(!names.contains(NAME), "{names}");
            inside.sandbox.close();
            let fresh = self::bench(by);
            let inside = fresh.open();
            let shown = inside.sandbox.unmask(&files()).expect("unmasked");
            assert_eq!(shown, vec![Unmasked::Shown; files().len()]);
            let all = "cat zebra-folder/plan.txt zebra-folder/deep/second.txt mixed/zebra.bin other-name-of-zebra.txt \
                       pointer-to-zebra; stat -c '%a %Y' mixed/zebra.bin; tar c . | grep -ac canary-of";
            let modified = fresh.repository().join("mixed/zebra.bin").metadata().expect("there").mtime();
            let out = inside.out(all);
            assert!(out.starts_with(&format!("{}755 {modified}\n", CANARY.repeat(5))), "{out}");
            inside.sandbox.close();
            assert_eq!(changed(&fresh, &[], &MASKED), [], "what was unmasked is no change");
        }
    });
}

#[test]
fn file_tools_see_what_commands_see() {
    everyone("masks::file_tools_see_what_commands_see", || {
        let bench = bench(Prefer::OverlayAlone);
        let inside = bench.open();
        let look = || {
            let list = inside.file(&FileOp::List { path: ".".into() }).expect("listed");
            let glob = FileOp::Glob { pattern: "**/*".into(), path: ".".into() };
            let grep = FileOp::Grep { regex: "canary".into(), path: ".".into(), include: None };
            format!(
                "{list:?} {:?} {:?}",
                inside.file(&glob).expect("found"),
                inside.file(&grep).expect("found")
            )
        };
        let read =
            FileOp::Read { path: "mixed/zebra.bin".into(), offset_line: 1, limit_lines: 9, max_bytes: 999 };
        assert!(!look().contains(NAME), "{}", look());
        assert!(inside.file(&read).is_err());
        inside.sandbox.unmask(&["mixed/zebra.bin".into()]).expect("unmasked");
        assert!(
            look().contains("mixed/zebra.bin") && look().contains(CANARY) && !look().contains("plan.txt")
        );
        let FileReply::Read { text, .. } = inside.file(&read).expect("read") else {
            panic!("another answer")
        };
        assert_eq!(text, CANARY);
    });
}

#[test]
fn what_the_session_makes_at_a_masked_path_stays_its_own_and_is_told_apart() {
    everyone("masks::what_the_session_makes_at_a_masked_path_stays_its_own_and_is_told_apart", || {
        for by in [Prefer::OverlayAlone, Prefer::Copy] {
            let bench = bench(by);
            let inside = bench.open();
            inside.out("echo mine > mixed/zebra.bin; mkdir zebra-folder; echo mine > zebra-folder/plan.txt");
            let shown =
                inside.sandbox.unmask(&["mixed/zebra.bin".into(), "zebra-folder/deep/second.txt".into()]);
            assert_eq!(shown.expect("asked"), [Unmasked::Taken, Unmasked::Shown]);
            assert_eq!(inside.out("cat mixed/zebra.bin zebra-folder/plan.txt"), "mine\nmine\n");
            inside.sandbox.close();
            let masked =
                ["mixed/zebra.bin", "zebra-folder/plan.txt", "other-name-of-zebra.txt", "pointer-to-zebra"];
            assert_eq!(
                changed(&bench, &masked, &["zebra-folder/deep/second.txt"]),
                [
                    ("mixed/zebra.bin".to_owned(), true, true, true),
                    ("zebra-folder/plan.txt".to_owned(), true, true, true),
                ]
            );
        }
    });
}

#[test]
fn a_file_that_was_unmasked_is_changed_and_removed_like_any_other() {
    everyone("masks::a_file_that_was_unmasked_is_changed_and_removed_like_any_other", || {
        for by in [Prefer::OverlayAlone, Prefer::Copy] {
            let bench = bench(by);
            let inside = bench.open();
            inside.sandbox.unmask(&files()).expect("unmasked");
            inside.out("rm zebra-folder/plan.txt; echo more >> mixed/zebra.bin; rm -r zebra-folder/deep");
            inside.sandbox.close();
            let expected = [
                ("mixed/zebra.bin".to_owned(), true, true, false),
                ("zebra-folder/deep/second.txt".to_owned(), true, false, false),
                ("zebra-folder/plan.txt".to_owned(), true, false, false),
            ];
            assert_eq!(changed(&bench, &[], &MASKED), expected);
            // Opened again it is as it was left: what was removed does not come back, what was shown stays.
            let again = bench.open();
            assert_eq!(
                again.out("cat mixed/zebra.bin; ls zebra-folder | wc -l"),
                format!("{CANARY}more\n0\n")
            );
            again.sandbox.close();
            assert_eq!(changed(&bench, &[], &MASKED), expected);
        }
    });
}

#[test]
fn only_what_was_masked_is_unmasked_and_no_link_is_followed_for_it() {
    everyone("masks::only_what_was_masked_is_unmasked_and_no_link_is_followed_for_it", || {
        let mut bench = bench(Prefer::OverlayAlone);
        bench.write("hidden.env", CANARY);
        bench.plan.hidden = vec!["hidden.env".into()];
        let inside = bench.open();
        let of = |path: &str| inside.sandbox.unmask(&[path.into()]).expect("asked").remove(0);
        for path in ["hidden.env", "../layer", "/etc/passwd", "f1.txt", "mixed/../mixed/zebra.bin"] {
            assert!(matches!(of(path), Unmasked::Failed(_)), "{path}");
        }
        // The session puts a link where the folder was: nothing is written through it.
        inside.out("mkdir -p elsewhere; ln -s elsewhere zebra-folder");
        assert_eq!(of("zebra-folder/plan.txt"), Unmasked::Taken);
        assert_eq!(inside.out("ls elsewhere"), "");
        // The person's own tree has lost it, or made something else of it.
        std::fs::remove_file(bench.repository().join("mixed/zebra.bin")).expect("removed");
        assert_eq!(of("mixed/zebra.bin"), Unmasked::Gone);
        symlink("/etc", bench.repository().join("mixed/zebra.bin")).expect("linked");
        assert_eq!(of("mixed/zebra.bin"), Unmasked::Shown, "a link as a link");
        assert_eq!(inside.out("readlink mixed/zebra.bin"), "/etc\n");
    });
}

#[test]
fn opening_with_masks_many_times_leaves_nothing_behind() {
    everyone("masks::opening_with_masks_many_times_leaves_nothing_behind", || {
        let bench = bench(Prefer::OverlayAlone);
        let mounts = || std::fs::read_to_string("/proc/self/mountinfo").expect("mounts").lines().count();
        let descriptors = || std::fs::read_dir("/proc/self/fd").expect("descriptors").count();
        bench.open().sandbox.unmask(&files()).expect("unmasked");
        let before = (mounts(), descriptors());
        for _ in 0..200 {
            bench.open().sandbox.unmask(&files()).expect("unmasked");
        }
        // Other tests of this program open descriptors of their own meanwhile.
        assert!(mounts() == before.0 && descriptors() < before.1 + 150, "{before:?} {}", descriptors());
        let names: BTreeSet<String> = std::fs::read_dir(&bench.plan.layer)
            .expect("a layer")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        assert!(names.iter().all(|name| !name.contains("mask")), "{names:?}");
        let repository: Vec<_> = std::fs::read_dir(bench.repository()).expect("the repository").collect();
        assert_eq!(repository.len(), 9 + 4, "nothing was made in the repository");
    });
}
