//! The life of a sandbox: it ends with the program that opened it, whatever happens, and the trial of the machine.
use crate::support::{Bench, alive, everyone, everyone_and_powerless_root, is_root, until};
use enclos_sandbox::{Backend, Command, Enforcer, Level, Outcome, open, probe};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use std::path::Path;

/// Not a test of its own: takes a system call from itself, and tells at which step opening fails then.
#[test]
fn deprived() {
    let Ok(denied) = std::env::var("ENCLOS_TEST_DENIED") else { return };
    let denied: i64 = denied.parse().expect("a number");
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let rules = [(denied, Vec::new())].into_iter().collect();
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, refuse, TargetArch::x86_64).expect("a filter");
    let program: BpfProgram = filter.try_into().expect("a program");
    let bench = Bench::new();
    seccompiler::apply_filter_all_threads(&program).expect("in force");
    match open(&bench.plan) {
        Ok(sandbox) => {
            let report = sandbox.report().clone();
            let inside = crate::support::Inside { sandbox };
            inside.out("echo x > new; mkdir d; rm -r d; mkdir d; rm f1.txt; grep -q ' /workspace .*nosuid,nodev' /proc/self/mountinfo");
            println!("step: none, {}, {}", report.workspace.word(), report.missing.join("; "));
        }
        Err(error) => println!("step: {:?}", error.step),
    }
}

#[test]
fn a_layer_that_cannot_be_had_fails_the_opening_by_name() {
    everyone("life::a_layer_that_cannot_be_had_fails_the_opening_by_name", || {
        let tree = if is_root() { "IdMap" } else { "Namespaces" };
        let attributes = if is_root() { "IdMap" } else { "System" };
        for (call, step) in [
            (libc::SYS_clone, tree),
            (libc::SYS_memfd_create, "Init"),
            (libc::SYS_execveat, "Init"),
            (libc::SYS_capset, "Namespaces"),
            (libc::SYS_mount, "Root"),
            (libc::SYS_open_tree, tree),
            (libc::SYS_mount_setattr, attributes),
            (libc::SYS_move_mount, "System"),
            (libc::SYS_pivot_root, "Pivot"),
            (libc::SYS_sethostname, "Pivot"),
            (libc::SYS_keyctl, "Privileges"),
            (libc::SYS_landlock_create_ruleset, "Landlock"),
            (libc::SYS_seccomp, "Seccomp"),
            // The one refusal that another way is known for, with the same confinement.
            (libc::SYS_fsopen, "none, copy"),
        ] {
            let output = std::process::Command::new("/proc/self/exe")
                .args(["life::deprived", "--exact", "--nocapture", "--test-threads=1"])
                .env("ENCLOS_TEST_DENIED", call.to_string())
                .output()
                .expect("this program again");
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains(&format!("step: {step}")), "without call {call}, not {step}: {text}");
        }
    });
}

/// Not a test of its own: opens a sandbox, starts a long command in it, and waits to be killed.
#[test]
fn holder() {
    let Ok(mark) = std::env::var("ENCLOS_TEST_MARK") else { return };
    let bench = Bench::new();
    let inside = bench.open();
    let text = format!("(setsid sleep {mark} &); trap '' TERM HUP; sleep {mark}");
    let exit = inside.sandbox.run(&Command::new(text), &mut |_, _| {});
    panic!("ended: {exit:?}");
}

#[test]
fn a_killed_gateway_leaves_nothing() {
    everyone("life::a_killed_gateway_leaves_nothing", || {
        let mark = format!("6{:05}", std::process::id());
        let mut child = std::process::Command::new("/proc/self/exe")
            .args(["life::holder", "--exact", "--nocapture", "--test-threads=1"])
            .env("ENCLOS_TEST_MARK", &mark)
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("this program again");
        let what = format!("sleep {mark}");
        until("the command runs", || alive(&what));
        child.kill().expect("killed");
        child.wait().expect("reaped");
        until("nothing is left", || !alive(&what));
    });
}

#[test]
fn the_thread_that_opened_it_may_end() {
    everyone("life::the_thread_that_opened_it_may_end", || {
        let bench = Bench::new();
        let inside = std::thread::scope(|scope| scope.spawn(|| bench.open()).join()).expect("opened");
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(inside.out("echo alive"), "alive\n");
    });
}

#[test]
fn nothing_is_left_after_close() {
    everyone("life::nothing_is_left_after_close", || {
        let output = std::process::Command::new("/proc/self/exe")
            .args(["life::opener", "--exact", "--nocapture", "--test-threads=1"])
            .env("ENCLOS_TEST_OPEN", "1")
            .output()
            .expect("this program again");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    });
}

/// Not a test of its own: opens and closes sandboxes in a process where nothing else does.
#[test]
fn opener() {
    if std::env::var("ENCLOS_TEST_OPEN").is_err() {
        return;
    }
    let own = format!("enclos-{}-", std::process::id());
    let descriptors = || std::fs::read_dir("/proc/self/fd").expect("proc").count();
    let bench = Bench::new();
    let inside = bench.open();
    inside.run("sleep 0.05 & sleep 1000 & true");
    assert_eq!(
        inside.sandbox.report().memory == Enforcer::Cgroup1,
        find(Path::new("/sys/fs/cgroup/memory"), &own, 5)
    );
    inside.sandbox.close();
    let before = descriptors();
    for _ in 0..5 {
        bench.open().sandbox.close();
    }
    assert_eq!(descriptors(), before);
    for controller in ["memory", "pids", "cpu", "unified"] {
        assert!(!find(&Path::new("/sys/fs/cgroup").join(controller), &own, 5), "{controller}");
    }
    assert!(!bench.plan.layer.join("scratch").exists());
}

#[test]
fn the_report_is_honest() {
    everyone_and_powerless_root("life::the_report_is_honest", || {
        let bench = Bench::new();
        let inside = bench.open();
        let report = inside.sandbox.report();
        let power = rustix::thread::capabilities(None).expect("known").effective;
        let powerless = is_root() && !power.contains(rustix::thread::CapabilitySet::SYS_ADMIN);
        assert_eq!(report.host_uid == 0, powerless, "number 0 is kept only by who can be nobody else");
        assert_eq!(inside.out("echo written > f; id -u; cat f"), "1000\nwritten\n");
        assert!(report.landlock_abi >= 2);
        assert_eq!(report.level == Level::Hard, report.missing.is_empty());
        if is_root() && !powerless {
            assert!(report.host_uid >= 0x7000_0000);
        } else {
            assert_eq!(report.host_uid, rustix::process::geteuid().as_raw());
        }
    });
}

#[test]
fn what_ends_commands_is_run_soon_and_the_commands_have_the_usual_share() {
    // What `sched_getscheduler` answers for the usual policy with the mark that children do not inherit the wish.
    const SOON: i32 = 0x4000_0000;
    let policy = |pid: i32| {
        // SAFETY: takes and answers numbers.
        unsafe { libc::sched_getscheduler(pid) }
    };
    let bench = Bench::new();
    let inside = bench.open();
    inside.sandbox.start("waits", &Command::new("exec sleep 1041")).expect("started");
    let bash = || -> Option<i32> {
        let named = |pid: &i32| {
            std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == b"sleep\x001041\0")
        };
        std::fs::read_dir("/proc")
            .ok()?
            .flatten()
            .filter_map(|e| e.file_name().to_str()?.parse().ok())
            .find(named)
    };
    crate::support::until("the command runs", || bash().is_some());
    let bash = bash().expect("runs");
    let parent = |pid: i32| -> i32 {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("there");
        stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok()).expect("a parent")
    };
    let (first, init) = (parent(bash), parent(parent(bash)));
    assert_eq!((policy(init), policy(first), policy(bash)), (SOON, SOON, 0));
}

#[test]
fn the_trial_of_this_machine_passes() {
    everyone("life::the_trial_of_this_machine_passes", || {
        let checks = probe(&Backend::Namespaces);
        assert!(checks.len() > 25);
        for check in checks {
            assert!(matches!(check.outcome, Outcome::Ok | Outcome::Limited), "{check:?}");
        }
    });
}

/// Whether a folder of this name is somewhere below.
fn find(folder: &Path, name: &str, depth: u32) -> bool {
    depth > 0
        && std::fs::read_dir(folder).is_ok_and(|entries| {
            entries.flatten().any(|entry| {
                entry.file_name().to_string_lossy().starts_with(name)
                    || (entry.file_type().is_ok_and(|kind| kind.is_dir())
                        && find(&entry.path(), name, depth - 1))
            })
        })
}
