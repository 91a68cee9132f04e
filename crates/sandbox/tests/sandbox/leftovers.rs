//! What sandboxes leave behind, and what they see of each other: nothing.
use crate::support::{Bench, Inside, alive, everyone, until};
use enclos_sandbox::{Command, FileOp, FileReply, Limits, open};
use std::path::Path;
use std::sync::Barrier;

/// Set for a copy of this program in which nothing else runs.
const COUNT: &str = "ENCLOS_TEST_COUNT";

fn alone(test: &str, count: &str) {
    let output = std::process::Command::new("/proc/self/exe")
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(COUNT, count)
        .output()
        .expect("this program again");
    let told =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
}

/// What this process holds, and what of the machine could be left.
#[derive(Debug, PartialEq, Eq)]
struct Holdings {
    descriptors: usize,
    threads: usize,
    children: usize,
    mounts: usize,
    groups: usize,
}

impl Holdings {
    fn now(own_mounts: bool) -> Self {
        let entries = |path: &str| std::fs::read_dir(path).map_or(0, Iterator::count);
        let own = std::process::id();
        let child = |entry: &std::fs::DirEntry| {
            let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
            parent == Some(own)
        };
        let mut groups = 0;
        count_groups(Path::new("/sys/fs/cgroup"), &format!("enclos-{own}-"), 6, &mut groups);
        Self {
            descriptors: entries("/proc/self/fd"),
            threads: entries("/proc/self/task"),
            children: std::fs::read_dir("/proc").expect("proc").flatten().filter(child).count(),
            mounts: if own_mounts { mounts() } else { 0 },
            groups,
        }
    }
}

fn mounts() -> usize {
    std::fs::read_to_string("/proc/thread-self/mountinfo").expect("proc").lines().count()
}

/// A mount table that nobody else on the machine changes, where root can have one. A plain user changes none anyway.
fn own_mounts() -> bool {
    // SAFETY: a flag; this process runs one test, whose thread and children see the new table.
    let apart = unsafe { libc::unshare(libc::CLONE_NEWNS | libc::CLONE_FS) } == 0;
    if apart {
        let flags = rustix::mount::MountPropagationFlags::PRIVATE | rustix::mount::MountPropagationFlags::REC;
        rustix::mount::mount_change("/", flags).expect("the table is its own");
    }
    apart
}

fn count_groups(folder: &Path, name: &str, depth: u32, count: &mut usize) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        *count += usize::from(entry.file_name().to_string_lossy().starts_with(name));
        if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            count_groups(&entry.path(), name, depth - 1, count);
        }
    }
}

/// Not a test of its own: opens and closes sandboxes in a process where nothing else does.
#[test]
fn many_in_turn() {
    let Ok(count) = std::env::var(COUNT) else { return };
    let own_mounts = own_mounts();
    let bench = Bench::new();
    let one = || {
        let inside = bench.open();
        inside.run(
            "setsid sleep 600 & echo x > /tmp/x; echo x > /dev/shm/x; echo y > y; mkfifo p; sleep 0.001",
        );
        inside.sandbox.start("job", &Command::new("sleep 600")).expect("started");
        inside.file(&FileOp::Stat { path: "y".into() }).expect("there");
        inside.sandbox.close();
    };
    // The first makes what is made once: the launcher, the two programs in memory.
    one();
    let before = Holdings::now(own_mounts);
    for _ in 0..count.parse().expect("a number") {
        one();
    }
    assert_eq!(Holdings::now(own_mounts), before);
    let mut left: Vec<_> = std::fs::read_dir(&bench.plan.layer)
        .expect("there")
        .flatten()
        .map(|entry| entry.file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["lock", "upper", "work"]);
    enclos_sandbox::remove_layer(&bench.plan.layer).expect("removed");
    assert_eq!(
        std::fs::read_dir(bench.root.path()).expect("there").count(),
        1,
        "the repository is all there is"
    );
}

#[test]
fn heavy_two_hundred_in_turn_leave_nothing() {
    everyone("leftovers::heavy_two_hundred_in_turn_leave_nothing", || {
        alone("leftovers::many_in_turn", "200");
    });
}

/// `count` sandboxes that are all open at the same time, each with a secret of its own.
fn at_once(count: usize) {
    let benches: Vec<Bench> = (0..count)
        .map(|number| {
            let mut bench = Bench::new();
            bench.plan.limits = Limits { command_seconds: 300, ..Limits::default() };
            bench.write("own", &format!("own-{number}\n"));
            bench
        })
        .collect();
    let all_open = Barrier::new(count);
    let all_written = Barrier::new(count);
    std::thread::scope(|scope| {
        for (number, bench) in benches.iter().enumerate() {
            let (all_open, all_written) = (&all_open, &all_written);
            scope.spawn(move || {
                let inside = bench.open();
                all_open.wait();
                let write = format!(
                    "echo secret-{number} | tee /tmp/s /dev/shm/s ~/s s >/dev/null; \
                     ipcmk -M 4096 >/dev/null 2>&1; exec -a secret-{number} sleep 600"
                );
                inside.sandbox.start("hold", &Command::new(write)).expect("started");
                until("it has written", || {
                    matches!(inside.file(&FileOp::Stat { path: "s".into() }), Ok(FileReply::Stat(_)))
                });
                all_written.wait();
                sees_only_its_own(&inside, number);
                all_written.wait();
            });
        }
    });
    for (number, bench) in benches.iter().enumerate() {
        let own = std::fs::read_to_string(bench.repository().join("own")).expect("there");
        assert_eq!(own, format!("own-{number}\n"));
        assert!(!bench.repository().join("s").exists());
    }
}

fn sees_only_its_own(inside: &Inside, number: usize) {
    let look = "cat own s /tmp/s /dev/shm/s ~/s; tail -n +2 /proc/sysvipc/shm | wc -l; \
                cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c '^secret-'; ls / /tmp /dev/shm | wc -l >/dev/null";
    let out = inside.run(look).out;
    let mut lines = out.lines();
    assert_eq!(lines.next(), Some(format!("own-{number}").as_str()), "{out}");
    for _ in 0..4 {
        assert_eq!(lines.next(), Some(format!("secret-{number}").as_str()), "{out}");
    }
    let segments: u32 = lines.next().and_then(|count| count.parse().ok()).expect("a count");
    assert!(segments <= 1, "only its own: {out}");
    assert_eq!(lines.next(), Some("0"), "commands do not see each other's processes: {out}");
}

#[test]
fn several_at_once_see_only_their_own() {
    everyone("leftovers::several_at_once_see_only_their_own", || at_once(6));
}

#[test]
fn heavy_fifty_at_once_see_only_their_own() {
    everyone("leftovers::heavy_fifty_at_once_see_only_their_own", || at_once(50));
}

/// Not a test of its own: opens sandboxes without end, with something running in each, until it is killed.
#[test]
fn busy() {
    let Ok(mark) = std::env::var(COUNT) else { return };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let bench = Bench::new();
                    let inside = bench.open();
                    inside.sandbox.start("hold", &Command::new(format!("sleep {mark}"))).expect("started");
                    std::mem::forget((bench, inside));
                }
            });
        }
    });
}

#[test]
fn a_killed_gateway_is_swept_after_by_the_next() {
    everyone("leftovers::a_killed_gateway_is_swept_after_by_the_next", || {
        let mark = format!("4{:05}", std::process::id());
        let folder = tempfile::tempdir().expect("a folder");
        for _ in 0..3 {
            let mut child = std::process::Command::new("/proc/self/exe")
                .args(["leftovers::busy", "--exact", "--nocapture", "--test-threads=1"])
                .env(COUNT, &mark)
                .env("TMPDIR", folder.path())
                .stdout(std::process::Stdio::null())
                .spawn()
                .expect("this program again");
            let what = format!("sleep {mark}");
            until("commands run", || alive(&what));
            let id = child.id();
            child.kill().expect("killed");
            child.wait().expect("reaped");
            until("nothing is left", || !alive(&what) && !alive_of(id));
            let bench = Bench::new();
            // The kernel lets go of a group some time after its last process is gone.
            until("an opening removes its groups", || {
                drop(open(&bench.plan).expect("opens"));
                let mut groups = 0;
                count_groups(Path::new("/sys/fs/cgroup"), &format!("enclos-{id}-"), 6, &mut groups);
                groups == 0
            });
        }
        for entry in std::fs::read_dir(folder.path()).expect("there").flatten() {
            let bench = Bench::new();
            let mut plan = bench.plan.clone();
            plan.layer = entry.path().join("layer");
            drop(open(&plan).expect("its layers can be used again"));
            enclos_sandbox::remove_layer(&entry.path()).expect("and removed");
        }
    });
}

/// Whether a process is alive in a control group that process `id` made.
fn alive_of(id: u32) -> bool {
    let group = format!("enclos-{id}-");
    std::fs::read_dir("/proc").expect("proc").flatten().any(|entry| {
        std::fs::read_to_string(entry.path().join("cgroup")).is_ok_and(|text| text.contains(&group))
    })
}

#[test]
fn the_next_session_finds_nothing_of_the_last() {
    everyone("leftovers::the_next_session_finds_nothing_of_the_last", || {
        let mut bench = Bench::new();
        let inside = bench.open();
        let first = inside.sandbox.report().host_uid;
        inside.run("for f in /tmp/x /dev/shm/x ~/.bashrc ~/.profile; do echo 'echo leftover' > $f; done; echo changed > f1.txt; setsid sleep 600 &");
        inside.sandbox.close();
        bench.plan.layer = bench.root.path().join("second");
        let inside = bench.open();
        let own_number = first != rustix::process::geteuid().as_raw();
        assert!(!own_number || inside.sandbox.report().host_uid != first);
        assert_eq!(
            inside.out("ls -A /tmp /dev/shm ~; cat f1.txt"),
            "/dev/shm:\n\n/home/agent:\n\n/tmp:\nfile 1\n"
        );
        assert_eq!(inside.out("bash -ic true 2>/dev/null; bash -lc true"), "");
    });
}

#[test]
fn a_link_that_is_swapped_leads_no_tool_out() {
    everyone("leftovers::a_link_that_is_swapped_leads_no_tool_out", || {
        let bench = Bench::new();
        let inside = bench.open();
        let swap = "mkdir -p ~/target; echo outside > ~/target/f; while :; do mkdir d; echo inside > d/f; rm -r d; \
                    ln -s ~/target d; rm d; done 2>/dev/null";
        inside.sandbox.start("swap", &Command::new(swap)).expect("started");
        let mut read = 0;
        for round in 0..400 {
            if let Ok(FileReply::Bytes { bytes, .. }) =
                inside.file(&FileOp::ReadBytes { path: "d/f".into(), max: 100 })
            {
                assert!(!bytes.starts_with(b"outside"), "round {round}");
                read += 1;
            }
            let _ = inside.file(&FileOp::Write { path: "d/new".into(), content: "x".into() });
            let _ = inside.file(&FileOp::Delete { path: "d".into(), recursive: true });
        }
        assert!(read < 400, "the race was run");
        assert_eq!(inside.out("ls ~/target; cat ~/target/f"), "f\noutside\n");
    });
}

#[test]
fn layers_that_are_hard_to_remove_are_removed() {
    everyone("leftovers::layers_that_are_hard_to_remove_are_removed", || {
        let bench = Bench::new();
        let inside = bench.open();
        let text = "mkdir -p a/b && : > a/b/c && chmod 000 a/b a; for i in $(seq 3000); do : > \"$(printf 'n\\n%d' $i)\"; done; \
                    mkfifo p; d=.; for i in $(seq 200); do d=$d/deep; done; mkdir -p $d; truncate -s 1G sparse; ln sparse hard; \
                    cp /usr/bin/id s; chmod 6777 s; mknod w c 0 0; touch \"$(printf '\\xff\\033[2J')\"; rm -r f1.txt; ln -s /etc f2; true";
        assert_eq!(inside.run(text).exit.code, Some(0));
        inside.sandbox.close();
        enclos_sandbox::remove_layer(&bench.plan.layer).expect("removed");
        assert!(!bench.plan.layer.exists());
    });
}
