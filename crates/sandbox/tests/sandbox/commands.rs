//! Commands: how they start, what they may use, how they end.
use crate::support::{Bench, alive, everyone, until};
use enclos_sandbox::{Command, Counted, Killed, Limits, RunError, Stream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

#[test]
fn starts_from_a_fixed_state_each_time() {
    everyone("commands::starts_from_a_fixed_state_each_time", || {
        let mut bench = Bench::new();
        bench.plan.environment =
            vec![("PATH".into(), "/opt/x/bin".into()), ("CARGO_NET_OFFLINE".into(), "true".into())];
        let inside = bench.open();
        inside.out("export X=1; f() { :; }; export -f f; cd /; umask 0; echo 'echo bad' > ~/.bashrc; cp ~/.bashrc ~/.profile");
        let names = inside.out("env | cut -d= -f1 | sort | tr '\\n' ' '; pwd; umask");
        assert_eq!(
            names,
            "CARGO_NET_OFFLINE CI HOME LANG LOGNAME PATH PWD PYTHONPYCACHEPREFIX SHELL SHLVL TERM TMPDIR TZ USER _ /workspace\n0022\n"
        );
        assert!(inside.out("echo $PATH").starts_with("/opt/x/bin:/usr/local/bin:"));
        assert_eq!(
            inside.out("id -un; id -u; id -g; hostname; echo $HOME"),
            "agent\n1000\n1000\nsandbox\n/home/agent\n"
        );
    });
}

#[test]
fn tells_how_it_ended() {
    everyone("commands::tells_how_it_ended", || {
        let inside = Bench::new().open_kept();
        let ran = inside.1.run("echo out; echo err >&2; exit 3");
        assert_eq!((ran.exit.code, ran.exit.signal, ran.exit.killed), (Some(3), None, None));
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("out\n", "err\n"));
        assert_eq!(
            (ran.exit.stdout, ran.exit.stderr),
            (Counted { kept: 4, dropped: 0 }, Counted { kept: 4, dropped: 0 })
        );
        let ran = inside.1.run("kill -SEGV $$");
        assert_eq!((ran.exit.code, ran.exit.signal), (None, Some(libc::SIGSEGV)));
        assert_eq!(inside.1.run("-c echo x").exit.code, Some(127), "the text is no option");
        assert_eq!(inside.1.run("yes | head -1").err, "", "a broken pipe ends a writer quietly");
        let long = format!("echo {} | wc -c", "x".repeat(120_000));
        assert_eq!(inside.1.out(&long), "120001\n", "a long text arrives whole");
        for text in ["a\0b".to_owned(), "x".repeat(200_000)] {
            let refused = inside.1.sandbox.run(&Command::new(text), &mut |_, _| {});
            assert!(matches!(refused, Err(RunError::BadCommand(_))));
        }
    });
}

#[test]
fn output_past_the_limit_is_counted() {
    everyone("commands::output_past_the_limit_is_counted", || {
        let inside = Bench::new().open_kept();
        let (mut kept, mut largest) = (0u64, 0);
        let exit = inside
            .1
            .sandbox
            .run(&Command::new("head -c 52428800 /dev/zero"), &mut |_, bytes| {
                kept += bytes.len() as u64;
                largest = largest.max(bytes.len());
            })
            .expect("runs");
        assert_eq!(exit.code, Some(0));
        assert_eq!(exit.stdout, Counted { kept: 10 << 20, dropped: 40 << 20 });
        assert_eq!(kept, 10 << 20);
        assert!(largest <= 64 << 10);
        let command =
            Command { output_bytes: Some(10), ..Command::new("echo 12345678; echo 12345678 >&2; echo more") };
        let ran = inside.1.run_as(&command);
        assert_eq!(ran.exit.stdout.kept + ran.exit.stderr.kept, 10);
        assert_eq!(ran.exit.stdout.dropped + ran.exit.stderr.dropped, 13);
    });
}

#[test]
fn a_command_over_its_time_ends_with_its_whole_tree() {
    everyone("commands::a_command_over_its_time_ends_with_its_whole_tree", || {
        let inside = Bench::new().open_kept();
        let mark = format!("7{:05}", std::process::id());
        let text = format!("setsid sleep {mark} & (trap '' TERM; setsid sleep {mark}) & sleep {mark}");
        let start = Instant::now();
        let ran = inside.1.run_as(&Command { seconds: Some(1), ..Command::new(text) });
        assert_eq!(ran.exit.killed, Some(Killed::Timeout));
        assert!(start.elapsed() < Duration::from_secs(20));
        assert!(!alive(&format!("sleep {mark}")), "nothing of it is left");
        let stubborn = "trap '' TERM INT HUP; while :; do sleep 60; done";
        let ran = inside.1.run_as(&Command { seconds: Some(1), ..Command::new(stubborn) });
        assert_eq!((ran.exit.killed, ran.exit.code), (Some(Killed::Timeout), None));
        let polite = "trap 'echo bye; exit 7' TERM; sleep 60 & wait";
        let ran = inside.1.run_as(&Command { seconds: Some(1), ..Command::new(polite) });
        assert_eq!(
            (ran.out.as_str(), ran.exit.code, ran.exit.killed),
            ("bye\n", Some(7), Some(Killed::Timeout))
        );
        assert_eq!(inside.1.out("echo on"), "on\n");
    });
}

#[test]
fn what_bash_leaves_behind_ends_with_it() {
    everyone("commands::what_bash_leaves_behind_ends_with_it", || {
        let inside = Bench::new().open_kept();
        let mark = format!("8{:05}", std::process::id());
        let start = Instant::now();
        let ran = inside.1.run(&format!("setsid nohup sleep {mark} & (setsid sleep {mark} &) ; echo done"));
        assert_eq!((ran.out.as_str(), ran.exit.code, ran.exit.killed), ("done\n", Some(0), None));
        assert!(start.elapsed() < Duration::from_secs(10), "nobody waits for the pipe they hold");
        assert!(!alive(&format!("sleep {mark}")));
        assert_eq!(inside.1.out("echo a > >(sleep 0.03; cat)"), "a\n", "a last line is waited for");
        let reaped = inside.1.out(
            "for i in $(seq 100); do (true &) ; done; sleep 0.2; grep -l '^State:.Z' /proc/[0-9]*/status | wc -l",
        );
        assert_eq!(reaped, "0\n");
    });
}

#[test]
fn stopped_from_another_thread() {
    everyone("commands::stopped_from_another_thread", || {
        let inside = Bench::new().open_kept();
        let killer = inside.1.sandbox.killer();
        let exit = inside
            .1
            .sandbox
            .run(&Command::new("echo begun; sleep 60"), &mut |_, _| killer.kill_commands())
            .expect("runs");
        assert_eq!((exit.killed, exit.code), (Some(Killed::Stop), None));
        assert_eq!(inside.1.out("echo on"), "on\n", "the sandbox lives on");
        let killer = inside.1.sandbox.killer();
        let exit = inside.1.sandbox.run(&Command::new("echo begun; sleep 60"), &mut |_, _| killer.kill_all());
        assert_eq!(exit.expect("runs").killed, Some(Killed::Stop));
        let after = inside.1.sandbox.run(&Command::new("true"), &mut |_, _| {});
        assert!(matches!(
            after,
            Err(RunError::Closed) | Ok(enclos_sandbox::Exit { killed: Some(Killed::Stop), .. })
        ));
    });
}

#[test]
fn several_at_the_same_time() {
    everyone("commands::several_at_the_same_time", || {
        let inside = Bench::new().open_kept();
        let done = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for number in 0..6 {
                let (inside, done) = (&inside.1, &done);
                scope.spawn(move || {
                    for round in 0..3 {
                        let text = format!(
                            "echo {number}-{round} > p{number}; cat p{number}; ls /proc | grep -c '^[0-9]'"
                        );
                        let out = inside.out(&text);
                        assert!(out.starts_with(&format!("{number}-{round}\n")), "{out}");
                        assert!(
                            out.lines().nth(1).is_some_and(|n| n.parse::<u32>().is_ok_and(|n| n <= 5)),
                            "{out}"
                        );
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(done.into_inner(), 18);
    });
}

#[test]
fn memory_ends_the_command_that_took_it() {
    everyone("commands::memory_ends_the_command_that_took_it", || {
        let mut bench = Bench::new();
        bench.plan.limits = Limits { memory_bytes: 256 << 20, command_seconds: 60, ..Limits::default() };
        let inside = bench.open();
        let ran =
            inside.run("x=$(head -c 100000000 /dev/zero | tr '\\0' a); y=$x$x$x$x$x$x$x$x; echo survived");
        assert_eq!(ran.exit.killed, Some(Killed::Oom), "{ran:?}");
        assert_eq!(inside.out("echo on"), "on\n");
    });
}

#[test]
fn processes_have_a_ceiling() {
    everyone("commands::processes_have_a_ceiling", || {
        let mut bench = Bench::new();
        bench.plan.limits = Limits { processes: 64, command_seconds: 20, ..Limits::default() };
        let inside = bench.open();
        let start = Instant::now();
        let ran = inside.run("b() { b | b & }; b; sleep 30");
        assert!(
            matches!(ran.exit.killed, Some(Killed::Processes | Killed::Timeout)),
            "a bomb ends at its ceiling: {:?}",
            ran.exit
        );
        assert!(start.elapsed() < Duration::from_secs(40));
        assert_eq!(inside.out("echo on"), "on\n");
        assert_eq!(inside.run("for i in $(seq 20); do sleep 0.1 & done; wait").exit.killed, None, "below it");
    });
}

#[test]
fn disk_has_a_ceiling() {
    everyone("commands::disk_has_a_ceiling", || {
        let mut bench = Bench::new();
        bench.plan.limits = Limits { disk_bytes: 8 << 20, command_seconds: 60, ..Limits::default() };
        let inside = bench.open();
        let ran = inside.run("head -c 20000000 /dev/zero > big; stat -c %s big");
        assert!(ran.out.trim().parse::<u64>().unwrap_or(0) <= 8 << 20, "no single file is larger: {ran:?}");
        inside.run("rm -f big");
        let many = "for i in $(seq 40); do head -c 1000000 /dev/zero > m$i; sleep 0.02; done; sleep 30";
        assert_eq!(inside.run(many).exit.killed, Some(Killed::Disk));
        inside.run("rm -f m*");
        assert_eq!(inside.out("echo on"), "on\n");
        for place in ["/tmp", "/dev/shm", "/home/agent"] {
            assert_ne!(inside.run(&format!("fallocate -l 8G {place}/f")).exit.code, Some(0), "{place}");
        }
    });
}

#[test]
fn both_streams_come_as_they_are() {
    everyone("commands::both_streams_come_as_they_are", || {
        let inside = Bench::new().open_kept();
        let mut bytes = Vec::new();
        let exit = inside
            .1
            .sandbox
            .run(
                &Command::new(r#"printf '\xff\xfe\x00abc'; printf '{"exit":0}'; exit 3"#),
                &mut |stream, part| {
                    assert_eq!(stream, Stream::Stdout);
                    bytes.extend_from_slice(part);
                },
            )
            .expect("runs");
        assert_eq!(bytes, b"\xff\xfe\x00abc{\"exit\":0}");
        assert_eq!(exit.code, Some(3), "output is never a word to the gateway");
        assert_eq!(inside.1.out("read -t 3 x; echo $?"), "1\n", "standard input is empty");
    });
}

#[test]
fn nothing_is_left_in_proc() {
    everyone("commands::nothing_is_left_in_proc", || {
        let mark = format!("9{:05}", std::process::id());
        let bench = Bench::new();
        let inside = bench.open();
        std::thread::scope(|scope| {
            scope.spawn(|| inside.run(&format!("sleep {mark}")));
            until("it runs", || alive(&format!("sleep {mark}")));
            inside.sandbox.killer().kill_all();
        });
        inside.sandbox.close();
        assert!(!alive(&format!("sleep {mark}")));
    });
}

impl Bench {
    /// A sandbox with the bench that it needs to live.
    pub(crate) fn open_kept(self) -> (Self, crate::support::Inside) {
        let inside = self.open();
        (self, inside)
    }
}
