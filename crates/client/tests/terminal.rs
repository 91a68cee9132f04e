//! A person at a real terminal: this program runs itself behind a pseudo-terminal, with a scripted gateway inside,
//! types keys and reads what is shown. Nothing is timed: each step waits for words on the screen.
//!
//! It is its own harness, for the child must be this very program: `terminal --child SCRIPT LOG -- ARGS…`.

mod support;

use std::ffi::OsString;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use enclos_client::world::{Tty, World};
use enclos_protocol::env::Environment;
use enclos_protocol::event::{ApprovalState, Body, SessionState};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use support::{Fake, Step, tell};

/// Longer than any machine needs; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_mins(1);

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|arg| arg == "--child") {
        return child(&args[2], Path::new(&args[3]), &args[5..]);
    }
    let filters: Vec<&String> = args.iter().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    if args.iter().any(|arg| arg == "--list") {
        // None is ignored, so a list of the ignored ones is empty.
        let ignored = args.iter().any(|arg| arg == "--ignored");
        for (name, _) in TESTS.iter().filter(|_| !ignored) {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }
    let mut failed = 0;
    for (name, test) in
        TESTS.iter().filter(|(name, _)| filters.is_empty() || filters.iter().any(|f| name.contains(*f)))
    {
        let passed = std::panic::catch_unwind(test).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed += u8::from(!passed);
    }
    ExitCode::from(failed.min(1))
}

/// The tests by name.
const TESTS: &[(&str, fn())] = &[
    ("a_card_is_answered_by_its_key", a_card_is_answered_by_its_key),
    ("enter_and_pasted_text_answer_nothing", enter_and_pasted_text_answer_nothing),
    ("a_refusal_carries_its_word", a_refusal_carries_its_word),
    ("a_long_card_is_read_to_its_end", a_long_card_is_read_to_its_end),
    ("one_interruption_interrupts_and_two_stop", one_interruption_interrupts_and_two_stop),
    ("quit_stops_at_any_moment", quit_stops_at_any_moment),
    ("a_message_is_written_and_sent", a_message_is_written_and_sent),
    (
        "in_a_conversation_the_changes_do_not_take_the_keys_of_a_message",
        in_a_conversation_the_changes_do_not_take_the_keys_of_a_message,
    ),
    ("a_flagged_file_is_asked_by_name", a_flagged_file_is_asked_by_name),
    ("an_extension_is_granted", an_extension_is_granted),
    ("a_terminated_run_is_left", a_terminated_run_is_left),
    ("a_terminal_that_is_gone_leaves_the_session", a_terminal_that_is_gone_leaves_the_session),
    ("plain_lines_move_nothing", plain_lines_move_nothing),
];

// ---------------------------------------------------------------- the child

/// The scripts that a child may play.
fn script(name: &str) -> Vec<Step> {
    let state = |state| tell(Body::State { state });
    let mut steps = vec![tell(support::opened()), state(SessionState::Running)];
    match name {
        "card" => {
            steps.extend(asked("ls -l", false));
            steps.push(Step::Await);
            steps.push(settled(ApprovalState::Approved));
            steps.push(tell(support::finished(0, SessionState::Closed)));
        }
        "long" => {
            let command: String =
                (0..200).fold(String::new(), |text, number| text + "echo line " + &number.to_string() + "\n");
            steps.extend(asked(&command, false));
            steps.push(Step::Await);
            steps.push(settled(ApprovalState::Approved));
            steps.push(tell(support::finished(0, SessionState::Closed)));
        }
        "work" => {
            steps.extend(support::says("I am at work."));
            steps.extend([Step::AwaitOrEnd(130), Step::AwaitOrEnd(130)]);
        }
        "message" => {
            steps.push(state(SessionState::WaitingInput));
            steps.push(Step::Await);
            steps.push(state(SessionState::Running));
            steps.extend(support::says("Understood."));
            steps.push(tell(support::finished(0, SessionState::Closed)));
        }
        "review" => {
            steps.push(tell(support::changes()));
            steps.push(state(SessionState::Reviewing));
            steps.push(Step::Await);
            steps.push(tell(support::finished(0, SessionState::Closed)));
        }
        "extension" => {
            let grants =
                enclos_protocol::event::Amounts { actions: 50, minutes: 15, tokens: 666_666, commands: 50 };
            steps.push(tell(Body::ExtensionRequested { spent: "actions".to_owned(), grants, left: 5 }));
            steps.push(Step::Await);
            steps.push(tell(support::finished(0, SessionState::Closed)));
        }
        other => panic!("no script `{other}`"),
    }
    steps
}

fn asked(command: &str, may_remember: bool) -> Vec<Step> {
    let arguments = serde_json::json!({ "command": command });
    vec![
        tell(Body::CallGenerated { of: support::of(1, "bash"), arguments }),
        tell(Body::ApprovalRequested {
            of: support::of(1, "bash"),
            approval: "app_1".to_owned(),
            card: Box::new(support::card(command, may_remember)),
        }),
        tell(Body::State { state: SessionState::WaitingApproval }),
    ]
}

fn settled(state: ApprovalState) -> Step {
    tell(Body::ApprovalDecided {
        of: support::of(1, "bash"),
        approval: "app_1".to_owned(),
        state,
        decided_by: None,
    })
}

/// Runs the command on the terminal that is this process's own.
fn child(name: &str, log: &Path, args: &[String]) -> ExitCode {
    // The terminal becomes the controlling one of a session of our own, as a shell's would be.
    rustix::process::setsid().expect("a session");
    rustix::process::ioctl_tiocsctty(rustix::stdio::stdin()).expect("a controlling terminal");
    let fake = Fake { script: script(name), log: Some(log.to_owned()), ..Fake::default() };
    let mut world = World {
        env: Environment::of([("TERM", "xterm-256color")]),
        now: || "2026-11-30T12:00:00Z".parse().expect("a time"),
        input: &mut std::io::BufReader::new(std::io::stdin()),
        out: &mut std::io::stdout().lock(),
        err: &mut std::io::stderr().lock(),
        tty: Tty::of_process(),
    };
    let args = std::iter::once("enclos").chain(args.iter().map(String::as_str)).map(OsString::from);
    ExitCode::from(enclos_client::run(args, &mut world, |_| Ok(fake.clone())))
}

// ---------------------------------------------------------------- the person

/// A person in front of a terminal in which the command runs.
struct Person {
    terminal: OwnedFd,
    child: Child,
    seen: Receiver<Vec<u8>>,
    gone: Arc<AtomicBool>,
    reading: std::thread::JoinHandle<()>,
    screen: String,
    /// Where the next wait begins to look.
    from: usize,
    log: PathBuf,
    _folder: tempfile::TempDir,
}

impl Person {
    fn sits(script: &str, args: &[&str], rows: u16, columns: u16) -> Self {
        let terminal =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&terminal).expect("a grant");
        unlockpt(&terminal).expect("an unlock");
        let name = ptsname(&terminal, Vec::new()).expect("a name");
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).expect("a size");
        let open = || {
            let mut options = std::fs::OpenOptions::new();
            std::os::unix::fs::OpenOptionsExt::custom_flags(options.read(true).write(true), NOCTTY);
            Stdio::from(options.open(Path::new(name.to_str().expect("a name"))).expect("the terminal"))
        };
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("orders");
        #[expect(clippy::disallowed_methods, reason = "the child is this very program")]
        let mut command = std::process::Command::new(std::env::current_exe().expect("this program"));
        command.arg("--child").arg(script).arg(&log).arg("--").args(args).env("TERM", "xterm-256color");
        let child = command.stdin(open()).stdout(open()).stderr(open()).spawn().expect("a child");
        let mut reader = std::fs::File::from(terminal.try_clone().expect("a clone"));
        let (tell, seen) = channel();
        let gone = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&gone);
        let reading = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while !told.load(Ordering::Relaxed) {
                let mut ready = [PollFd::new(&reader, PollFlags::IN)];
                let wait = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
                if poll(&mut ready, Some(&wait)).expect("a poll") == 0 {
                    continue;
                }
                // The end of the last process on the terminal is an error of the read.
                let Ok(read @ 1..) = reader.read(&mut buffer) else { return };
                if tell.send(buffer[..read].to_vec()).is_err() {
                    return;
                }
            }
        });
        let screen = String::new();
        Self { terminal, child, seen, gone, reading, screen, from: 0, log, _folder: folder }
    }

    /// Waits for words on the screen, after those of the last wait.
    fn sees(&mut self, words: &str) -> &mut Self {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.screen[self.from..].find(words) {
                self.from += at + words.len();
                return self;
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.seen.recv_timeout(left) {
                Ok(bytes) => self.screen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => panic!("`{words}` was not seen ({error}) in:\n{}", self.screen),
            }
        }
    }

    fn types(&mut self, keys: &str) -> &mut Self {
        let mut terminal = std::fs::File::from(self.terminal.try_clone().expect("a clone"));
        terminal.write_all(keys.as_bytes()).expect("typed");
        self
    }

    /// The terminal goes away, as when its window is closed; the exit code and the orders that the command gave.
    fn hangs_up(mut self) -> (i32, Vec<String>) {
        self.gone.store(true, Ordering::Relaxed);
        self.reading.join().expect("an end of reading");
        drop(self.terminal);
        let until = Instant::now() + PATIENCE;
        while self.child.try_wait().expect("a child").is_none() {
            assert!(Instant::now() < until, "the command did not end when its terminal was gone");
            std::thread::sleep(Duration::from_millis(20));
        }
        let status = self.child.wait().expect("an end");
        let orders = std::fs::read_to_string(&self.log).unwrap_or_default();
        (status.code().expect("a code"), orders.lines().map(str::to_owned).collect())
    }

    /// Waits for the end of the command; the exit code and the orders that it gave.
    fn leaves(mut self) -> (i32, Vec<String>, String) {
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            if Instant::now() > until {
                self.child.kill().expect("killed");
                panic!("the command did not end; the screen was:\n{}", self.screen);
            }
            if let Ok(bytes) = self.seen.recv_timeout(Duration::from_millis(50)) {
                self.screen.push_str(&String::from_utf8_lossy(&bytes));
            }
        };
        while let Ok(bytes) = self.seen.recv_timeout(Duration::from_millis(200)) {
            self.screen.push_str(&String::from_utf8_lossy(&bytes));
        }
        let orders = std::fs::read_to_string(&self.log).unwrap_or_default();
        (status.code().expect("a code"), orders.lines().map(str::to_owned).collect(), self.screen)
    }
}

/// `O_NOCTTY`, which the standard library has no name for.
const NOCTTY: i32 = rustix::fs::OFlags::NOCTTY.bits().cast_signed();

fn order(order: &str) -> Vec<String> {
    vec![order.to_owned()]
}

const APPROVED: &str = r#"{"order":"approve","approval":"app_1","for_session":false}"#;

fn a_card_is_answered_by_its_key() {
    let mut person = Person::sits("card", &["run", "x"], 40, 100);
    person.sees("Approval needed").sees("ls -l").sees("approve once").types("a");
    let (code, orders, screen) = person.leaves();
    assert_eq!((code, orders), (0, order(APPROVED)));
    assert!(
        screen.contains("\u{1b}[?2004h") && screen.ends_with("\u{1b}[?2004l\u{1b}[?25h\u{1b}[0m"),
        "{screen:?}"
    );
}

fn enter_and_pasted_text_answer_nothing() {
    let mut person = Person::sits("card", &["run", "x"], 40, 100);
    person.sees("approve once").types("\r").types("\u{1b}[200~a\u{1b}[201~").sees("pasted text").types("r");
    let (_, orders, _) = person.leaves();
    assert_eq!(orders, order(r#"{"order":"reject","approval":"app_1","word":null}"#));
}

fn a_refusal_carries_its_word() {
    let mut person = Person::sits("card", &["run", "x"], 40, 100);
    person.sees("approve once").types("R").sees("why not").types("use cat\r");
    let (_, orders, _) = person.leaves();
    assert_eq!(orders, order(r#"{"order":"reject","approval":"app_1","word":"use cat"}"#));
}

fn a_long_card_is_read_to_its_end() {
    let mut person = Person::sits("long", &["run", "x"], 24, 80);
    person
        .sees("\u{1b}[?1049h")
        .sees("echo line 0")
        .sees("approve once")
        .types("a")
        .sees("scroll to the end first");
    person
        .types("\u{1b}[6~")
        .sees("echo line 20")
        .types("\u{1b}[F")
        .sees("echo line 199")
        .sees("approve once")
        .types("a");
    let (code, orders, screen) = person.leaves();
    assert_eq!((code, orders), (0, order(APPROVED)));
    assert!(screen.contains("\u{1b}[?1049l") && screen.contains("page by page"), "{screen}");
}

fn one_interruption_interrupts_and_two_stop() {
    let mut person = Person::sits("work", &["run", "x"], 40, 100);
    person.sees("I am at work.").types("\u{3}").sees("interrupting").types("\u{3}");
    let (code, orders, _) = person.leaves();
    assert_eq!(
        (code, orders),
        (130, [r#"{"order":"interrupt"}"#, r#"{"order":"stop"}"#].map(str::to_owned).to_vec())
    );
}

fn quit_stops_at_any_moment() {
    let mut person = Person::sits("card", &["run", "x"], 40, 100);
    person.sees("Approval needed").types("\u{1c}");
    let (code, orders, _) = person.leaves();
    assert_eq!((code, orders), (130, order(r#"{"order":"stop"}"#)));
}

fn a_message_is_written_and_sent() {
    let mut person = Person::sits("message", &["chat"], 40, 100);
    person.sees("›").types("go on\r").sees("Understood.");
    let (code, orders, _) = person.leaves();
    assert_eq!((code, orders), (0, order(r#"{"order":"say","text":"go on"}"#)));
}

fn in_a_conversation_the_changes_do_not_take_the_keys_of_a_message() {
    let mut person = Person::sits("review", &["chat"], 40, 100);
    person.sees("the changes wait").sees("›").types("add more tests\r");
    let (code, orders, _) = person.leaves();
    assert_eq!((code, orders), (0, order(r#"{"order":"say","text":"add more tests"}"#)));
    let mut person = Person::sits("review", &["chat"], 40, 100);
    person.sees("the changes wait").sees("›").types("/review\r").sees("What becomes of the changes?");
    person.sees("accept all").types("a");
    person.sees("Accept ci.yml?").sees("leave out").types("n");
    let (code, orders, _) = person.leaves();
    assert_eq!((code, orders), (0, order(r#"{"order":"accept","files":null,"flagged":[]}"#)));
}

fn a_flagged_file_is_asked_by_name() {
    let mut person = Person::sits("review", &["run", "x"], 40, 100);
    person.sees("What becomes of the changes?").sees("accept all").types("a");
    person.sees("Accept ci.yml?").sees("leave out").types("y");
    let (code, orders, _) = person.leaves();
    assert_eq!((code, orders), (0, order(r#"{"order":"accept","files":null,"flagged":["ci.yml"]}"#)));
}

fn an_extension_is_granted() {
    let mut person = Person::sits("extension", &["run", "x"], 40, 100);
    person.sees("The budget of actions is spent").sees("do not grant").types("y");
    let (code, orders, _) = person.leaves();
    assert_eq!((code, orders), (0, order(r#"{"order":"extend","granted":true}"#)));
}

fn a_terminated_run_is_left() {
    let mut person = Person::sits("work", &["run", "x"], 40, 100);
    person.sees("I am at work.");
    let child = rustix::process::Pid::from_child(&person.child);
    rustix::process::kill_process(child, rustix::process::Signal::TERM).expect("a signal");
    let terminal = person.terminal.try_clone().expect("a clone");
    let (code, orders, _) = person.leaves();
    assert_eq!((code, orders), (143, order(r#"{"order":"leave"}"#)));
    let modes = tcgetattr(&terminal).expect("the terminal's state").local_modes;
    assert!(
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG),
        "the terminal is as it was"
    );
}

fn plain_lines_move_nothing() {
    let mut person = Person::sits("card", &["--plain", "run", "x"], 40, 100);
    person.sees("approve once").types("a");
    let (code, orders, screen) = person.leaves();
    assert_eq!((code, orders), (0, order(APPROVED)));
    assert!(!screen.contains('\u{1b}'), "{screen:?}");
}

fn a_terminal_that_is_gone_leaves_the_session() {
    let mut person = Person::sits("card", &["run", "x"], 40, 100);
    person.sees("approve once");
    assert_eq!(person.hangs_up(), (129, order(r#"{"order":"leave"}"#)));
}
