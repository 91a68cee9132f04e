//! Commands in the background, terminals, and what is kept of a large output.
use crate::support::{Bench, Inside, alive, everyone, until};
use enclos_sandbox::{
    BACKGROUND_COMMANDS, Command, Counted, End, Exit, Keep, Killed, Limits, RunError, Stream,
};
use std::time::Duration;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_mins(1);

impl Inside {
    fn start(&self, name: &str, text: &str) {
        self.sandbox.start(name, &Command::new(text)).expect("started");
    }

    /// Everything a background command wrote, and how it ended.
    fn to_the_end(&self, name: &str) -> (Vec<u8>, Exit) {
        let (mut all, mut from) = (Vec::new(), 0);
        loop {
            let part = self.sandbox.read_background(name, from, 7).expect("known");
            all.extend_from_slice(&part.bytes);
            from = part.next();
            match part.end {
                Some(End::Exit(exit)) => return (all, exit),
                Some(End::Failed(why)) => panic!("{why}"),
                None => self.sandbox.wait_background(name, from, PATIENCE).expect("known"),
            }
        }
    }
}

#[test]
fn goes_on_while_others_run_and_is_read_as_it_writes() {
    everyone("background::goes_on_while_others_run_and_is_read_as_it_writes", || {
        let bench = Bench::new();
        let inside = bench.open();
        inside.start(
            "server",
            "echo up; until [ -e go ]; do sleep 0.01; done; printf 'b\\xff\\0e\\n' >&2; exit 4",
        );
        inside.sandbox.wait_background("server", 0, PATIENCE).expect("known");
        let part = inside.sandbox.read_background("server", 0, 100).expect("known");
        assert_eq!((part.from, part.bytes.as_slice(), part.end.as_ref()), (0, &b"up\n"[..], None));
        let [job] = &inside.sandbox.background()[..] else { panic!("one is listed") };
        assert_eq!((job.name.as_str(), job.end.as_ref()), ("server", None));
        assert_eq!(inside.out("echo beside; touch go"), "beside\n");
        let (all, exit) = inside.to_the_end("server");
        assert_eq!(all, b"up\nb\xff\0e\n");
        assert_eq!((exit.code, exit.signal, exit.killed), (Some(4), None, None));
        let [job] = &inside.sandbox.background()[..] else { panic!("it is still listed") };
        assert_eq!(job.output, Counted { kept: 8, dropped: 0 });
        assert!(matches!(job.end, Some(End::Exit(_))));
    });
}

#[test]
fn the_end_is_told_once_whatever_brings_it_about() {
    everyone("background::the_end_is_told_once_whatever_brings_it_about", || {
        let bench = Bench::new();
        let inside = bench.open();
        let (teller, told) = std::sync::mpsc::channel();
        let start = |name: &str, text: &str| {
            let teller = teller.clone();
            let ended = move |job| drop(teller.send(job));
            inside.sandbox.start_watched(name, &Command::new(text), ended)
        };
        start("itself", "echo out; exit 3").expect("started");
        let job = told.recv_timeout(PATIENCE).expect("told");
        assert_eq!((job.name.as_str(), job.text.as_str()), ("itself", "echo out; exit 3"));
        assert_eq!(job.output, Counted { kept: 4, dropped: 0 });
        assert!(matches!(job.end, Some(End::Exit(Exit { code: Some(3), killed: None, .. }))), "{job:?}");
        start("killed", "sleep 600").expect("started");
        inside.sandbox.kill_background("killed").expect("known");
        let stopped = |job: &enclos_sandbox::Background| matches!(&job.end, Some(End::Exit(exit)) if exit.killed == Some(Killed::Stop));
        assert!(stopped(&told.recv_timeout(PATIENCE).expect("told")));
        start("last", "sleep 600").expect("started");
        inside.sandbox.killer().kill_all();
        let job = told.recv_timeout(PATIENCE).expect("told");
        assert!(job.name == "last" && stopped(&job), "{job:?}");
        // The init may take one more order before the kill reaches it: what starts has its end, what does not has none.
        if start("late", "true").is_ok() {
            assert_eq!(told.recv_timeout(PATIENCE).expect("told").name, "late");
        }
        drop(teller);
        assert!(told.recv_timeout(PATIENCE).is_err(), "each once");
    });
}

#[test]
fn names_are_unique_and_the_number_is_bounded() {
    everyone("background::names_are_unique_and_the_number_is_bounded", || {
        let bench = Bench::new();
        let inside = bench.open();
        let refused = |name: &str| {
            matches!(inside.sandbox.start(name, &Command::new("sleep 600")), Err(RunError::BadCommand(_)))
        };
        for name in ["", "a b", "a/b", "é", "a\n", &"x".repeat(65)] {
            assert!(refused(name), "{name:?}");
        }
        for number in 0..BACKGROUND_COMMANDS {
            inside.start(&format!("job-{number}"), "sleep 600");
        }
        assert!(refused("job-0"), "the name is taken");
        assert!(refused("one-more"));
        inside.sandbox.kill_background("job-0").expect("known");
        let (_, exit) = inside.to_the_end("job-0");
        assert_eq!(exit.killed, Some(Killed::Stop));
        inside.start("job-0", "echo again");
        assert_eq!(inside.to_the_end("job-0").0, b"again\n");
        assert!(inside.sandbox.kill_background("job-0").is_ok(), "it may have ended");
        assert!(matches!(inside.sandbox.read_background("nobody", 0, 1), Err(RunError::BadCommand(_))));
        assert_eq!(inside.sandbox.background().len(), BACKGROUND_COMMANDS);
    });
}

#[test]
fn an_interruption_leaves_it_and_the_end_of_the_sandbox_does_not() {
    everyone("background::an_interruption_leaves_it_and_the_end_of_the_sandbox_does_not", || {
        let bench = Bench::new();
        let inside = bench.open();
        let mark = format!("5{:05}", std::process::id());
        inside.start("daemon", &format!("trap '' TERM HUP; (setsid sleep {mark} &); echo up; sleep {mark}"));
        inside.sandbox.wait_background("daemon", 0, PATIENCE).expect("known");
        let killer = inside.sandbox.killer();
        let exit = inside
            .sandbox
            .run(&Command::new("echo begun; sleep 60"), &mut |_, _| killer.kill_commands())
            .expect("runs");
        assert_eq!(exit.killed, Some(Killed::Stop));
        let [job] = &inside.sandbox.background()[..] else { panic!("one is listed") };
        assert_eq!(job.end, None, "it goes on");
        assert!(alive(&format!("sleep {mark}")));
        inside.sandbox.close();
        assert!(!alive(&format!("sleep {mark}")));
    });
}

#[test]
fn the_ceiling_on_processes_counts_it() {
    everyone("background::the_ceiling_on_processes_counts_it", || {
        let mut bench = Bench::new();
        bench.plan.limits = Limits { processes: 40, command_seconds: 20, ..Limits::default() };
        let inside = bench.open();
        inside.start("many", "for i in $(seq 25); do sleep 600 & done; echo up; wait");
        inside.sandbox.wait_background("many", 0, PATIENCE).expect("known");
        let ran = inside.run("for i in $(seq 60); do sleep 5 & done 2>/dev/null; sleep 5; echo survived");
        let many = inside.sandbox.background();
        let ended = many.iter().any(|job| job.end.is_some());
        // Bash gives up when it cannot start what it is to start.
        let refused = ran.exit.killed == Some(Killed::Processes) || ran.exit.code == Some(254);
        assert!((refused && ran.out.is_empty()) || ended, "{ran:?} {many:?}");
    });
}

#[test]
fn a_limit_of_time_holds_when_it_has_one() {
    everyone("background::a_limit_of_time_holds_when_it_has_one", || {
        let bench = Bench::new();
        let inside = bench.open();
        let command = Command { seconds: Some(1), ..Command::new("echo up; sleep 600") };
        inside.sandbox.start("short", &command).expect("started");
        let (all, exit) = inside.to_the_end("short");
        assert_eq!((all.as_slice(), exit.killed), (&b"up\n"[..], Some(Killed::Timeout)));
    });
}

#[test]
fn beginning_and_end_of_a_flood_are_kept() {
    everyone("background::beginning_and_end_of_a_flood_are_kept", || {
        let bench = Bench::new();
        let inside = bench.open();
        let text = "echo first; head -c 3000000 /dev/zero; echo; echo last";
        let command = Command { output_bytes: Some(1000), keep: Keep::HeadAndTail, ..Command::new(text) };
        let ran = inside.run_as(&command);
        assert!(ran.out.starts_with("first\n") && ran.out.len() == 800, "{}", ran.out.len());
        let [(Stream::Stdout, tail)] = &ran.exit.tail[..] else { panic!("{:?}", ran.exit.tail) };
        assert!(tail.ends_with(b"\0\nlast\n") && tail.len() == 200);
        assert_eq!(ran.exit.stdout, Counted { kept: 1000, dropped: 3_000_012 - 1000 });
        inside.sandbox.start("flood", &command).expect("started");
        until("it has ended", || inside.sandbox.background().iter().all(|job| job.end.is_some()));
        let (all, exit) = inside.to_the_end("flood");
        assert!(all.starts_with(b"first\n") && all.ends_with(b"\nlast\n") && all.len() == 1000);
        assert_eq!(exit.stdout, ran.exit.stdout);
        let short = Command { output_bytes: Some(1000), keep: Keep::HeadAndTail, ..Command::new("echo x") };
        let ran = inside.run_as(&short);
        assert_eq!((ran.out.as_str(), ran.exit.tail.len()), ("x\n", 0));
    });
}

#[test]
fn floods_of_many_that_ended_are_forgotten_before_they_fill_the_memory() {
    let bench = Bench::new();
    let inside = bench.open();
    for number in 0..9 {
        let name = format!("flood-{number}");
        inside.start(&name, "head -c 20000000 /dev/zero");
        until("it has ended", || inside.sandbox.background().iter().all(|job| job.end.is_some()));
    }
    let (all, kept) = (inside.sandbox.background(), 10 * 1024 * 1024);
    assert!(all.iter().all(|job| job.output.kept == kept && job.output.dropped == 20_000_000 - kept));
    let names: Vec<&str> = all.iter().map(|job| job.name.as_str()).collect();
    let expected: Vec<String> = (2..9).map(|number| format!("flood-{number}")).collect();
    assert_eq!(names, expected, "64 MiB of those before, and the last one");
}

#[test]
fn a_terminal_when_asked_for() {
    everyone("background::a_terminal_when_asked_for", || {
        let bench = Bench::new();
        let inside = bench.open();
        let terminal = |text: &str| Command { terminal: true, ..Command::new(text) };
        let ran = inside
            .run_as(&terminal("[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && tty && stty size && echo $TERM; exit 3"));
        assert_eq!(
            (ran.out.as_str(), ran.exit.code),
            ("/dev/pts/0\r\n24 80\r\nxterm\r\n", Some(3)),
            "{ran:?}"
        );
        assert!(ran.err.is_empty());
        let plain = inside.run("[ -t 0 ] || [ -t 1 ] || tty; echo $TERM");
        assert_eq!(plain.out, "not a tty\ndumb\n");
        let ran = inside.run_as(&terminal("echo err >&2; (setsid sleep 600 &); kill -INT $$"));
        assert_eq!((ran.out.as_str(), ran.exit.signal), ("err\r\n", Some(libc::SIGINT)), "{ran:?}");
        let command = Command { seconds: Some(1), ..terminal("echo waits; read -r line; echo \"$line\"") };
        let ran = inside.run_as(&command);
        assert_eq!((ran.out.as_str(), ran.exit.killed), ("waits\r\n", Some(Killed::Timeout)), "nobody types");
        inside
            .sandbox
            .start("screen", &terminal("tty; until [ -e go ]; do sleep 0.01; done"))
            .expect("started");
        inside.sandbox.wait_background("screen", 0, PATIENCE).expect("known");
        let other = inside.run_as(&terminal("tty; touch go"));
        assert_eq!(other.out, "/dev/pts/1\r\n");
        assert_eq!(inside.to_the_end("screen").0, b"/dev/pts/0\r\n");
        let flood = inside.run_as(&terminal("head -c 300000 /dev/zero | tr '\\0' x"));
        assert_eq!((flood.out.len(), flood.exit.code), (300_000, Some(0)));
    });
}

#[test]
fn nothing_of_it_is_left() {
    everyone("background::nothing_of_it_is_left", || {
        let bench = Bench::new();
        let inside = bench.open();
        for round in 0..4 {
            let command = Command { terminal: round % 2 == 0, ..Command::new("echo up; sleep 600") };
            inside.sandbox.start("job", &command).expect("started");
            inside.sandbox.wait_background("job", 0, PATIENCE).expect("known");
            inside.sandbox.kill_background("job").expect("known");
            until("it has ended", || inside.sandbox.background().iter().all(|job| job.end.is_some()));
        }
        assert_eq!(inside.out("ls /dev/pts"), "ptmx\n");
        assert_eq!(inside.sandbox.background().len(), 1);
    });
}
