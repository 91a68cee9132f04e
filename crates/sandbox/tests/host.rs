//! An execution host in this process, and gateways that connect to it.
use enclos_sandbox::host::{Config, Given, Host, HostError, Link, Refusal, Remote, Sort, Wish};
use enclos_sandbox::{Command, FileOp, FileReply, Limits, RunError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A host that serves until it is dropped.
struct Bench {
    dir: tempfile::TempDir,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::start(config(dir.path()), Box::new(|line| eprintln!("host: {line}"))).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = Some(std::thread::spawn(move || host.serve(&stopped)));
        Self { dir, stop, thread }
    }

    fn link(&self, session: &str, epoch: u64) -> Link {
        Link::connect(&config(self.dir.path()).socket).unwrap().lead(session, epoch)
    }

    fn layer(&self, session: &str) -> PathBuf {
        let who = rustix::process::geteuid().as_raw().to_string();
        self.dir.path().join("state/sessions").join(who).join(session).join("layer")
    }

    /// A sandbox over a tree of one file.
    fn open(&self, session: &str, epoch: u64) -> Remote {
        let mut link = self.link(session, epoch);
        link.over(|sender| {
            sender.plain(b"", Sort::Directory, 0o755)?;
            sender.file(b"hello", 0o644, &mut &b"one\n"[..])
        })
        .unwrap();
        link.open(wish()).unwrap().0
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn config(dir: &Path) -> Config {
    Config { socket: dir.join("host.sock"), state: dir.join("state"), gateways: Vec::new(), home: None }
}

fn wish() -> Wish {
    let none = || Given::Only(Vec::new());
    Wish { base: None, branch: None, toolchains: none(), caches: none(), limits: Limits::default() }
}

fn run(remote: &Remote, text: &str) -> Result<(Option<i32>, String), RunError> {
    let mut output = Vec::new();
    let exit = remote.run(&Command::new(text), &mut |_, bytes| output.extend_from_slice(bytes))?;
    Ok((exit.code, String::from_utf8(output).unwrap()))
}

fn why(result: Result<(), HostError>) -> Option<Refusal> {
    match result {
        Err(HostError::Refused { why, .. }) => Some(why),
        Ok(()) => None,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_sandbox_on_a_host_does_what_one_here_does() {
    let bench = Bench::new();
    let remote = bench.open("s1", 1);
    assert_eq!(run(&remote, "cat hello; echo two >> hello; exit 3").unwrap(), (Some(3), "one\n".into()));
    let bytes = remote.file(&FileOp::ReadBytes { path: "hello".into(), max: 100 }).unwrap();
    assert_eq!(bytes, FileReply::Bytes { size: 8, bytes: b"one\ntwo\n".to_vec() });
    assert!(remote.file(&FileOp::Stat { path: "nowhere".into() }).is_err());
    let large = "x".repeat(3_000_000);
    remote.file(&FileOp::Write { path: "large".into(), content: large }).unwrap();
    assert_eq!(run(&remote, "wc -c < large").unwrap().1, "3000000\n");
    remote.start("job", &Command::new("echo begun; sleep 60")).unwrap();
    remote.wait_background("job", 0, Duration::from_secs(30)).unwrap();
    assert_eq!(remote.read_background("job", 0, 100).unwrap().bytes, b"begun\n");
    remote.kill_background("job").unwrap();
    assert_eq!(remote.background().unwrap().len(), 1);
    remote.close();
    let into = bench.dir.path().join("fetched");
    bench.link("s1", 1).fetch(&into).unwrap();
    assert_eq!(std::fs::read(into.join("upper/hello")).unwrap(), b"one\ntwo\n");
    bench.link("s1", 1).discard().unwrap();
    assert!(!bench.layer("s1").exists());
    assert!(matches!(
        bench.link("s1", 2).fetch(&into),
        Err(HostError::Refused { why: Refusal::Unknown, .. })
    ));
}

#[test]
fn an_order_under_an_older_epoch_is_refused_and_a_newer_one_takes_the_session_over() {
    let bench = Bench::new();
    let first = bench.open("s1", 1);
    assert_eq!(run(&first, "echo mine > mine").unwrap().0, Some(0));
    let second = bench.open("s1", 2);
    match run(&first, "echo late > late") {
        Err(RunError::Host(message)) => assert!(message.contains("epoch 1"), "{message}"),
        Err(RunError::Closed | RunError::Lost) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(run(&second, "ls").unwrap().1, "hello\nmine\n");
    assert_eq!(why(bench.link("s1", 1).close()), Some(Refusal::Epoch));
    assert_eq!(why(bench.link("s1", 1).discard()), Some(Refusal::Epoch));
    assert_eq!(run(&second, "echo still").unwrap().1, "still\n");
}

#[test]
fn a_host_that_loses_its_gateway_ends_the_sandbox_when_the_lease_ends() {
    let bench = Bench::new();
    let mut link = bench.link("s1", 1);
    link.over(|sender| sender.plain(b"", Sort::Directory, 0o755)).unwrap();
    let (remote, _) = link.open(wish()).unwrap();
    remote.start("job", &Command::new("while :; do date +%s.%N >> beat; sleep 0.1; done")).unwrap();
    // Longer than a lease: it is renewed.
    std::thread::sleep(enclos_sandbox::host::LEASE + Duration::from_secs(1));
    assert!(!remote.is_lost());
    assert_eq!(run(&remote, "echo alive").unwrap().1, "alive\n");
    drop(remote);
    let beat = bench.layer("s1").join("upper/beat");
    let beats = || std::fs::metadata(&beat).map_or(0, |facts| facts.len());
    let (start, mut last, mut still) = (Instant::now(), beats(), Instant::now());
    while still.elapsed() < Duration::from_secs(3) {
        assert!(start.elapsed() < Duration::from_mins(1), "it still beats");
        std::thread::sleep(Duration::from_millis(100));
        let now = beats();
        if now != last {
            (last, still) = (now, Instant::now());
        }
    }
    bench.link("s1", 1).fetch(&bench.dir.path().join("fetched")).unwrap();
}

#[test]
fn two_sessions_are_two_users_and_see_nothing_of_each_other() {
    use std::os::unix::fs::MetadataExt;
    let bench = Bench::new();
    let (one, two) = (bench.open("s1", 1), bench.open("s2", 1));
    run(&one, "echo secret > secret; chmod 644 secret").unwrap();
    assert_eq!(
        run(&two, "ls; cat secret; find / -name secret 2>/dev/null").unwrap().1,
        "hello\ncat: secret: No such file or directory\n"
    );
    let owner = |session| std::fs::metadata(bench.layer(session).join("upper")).unwrap().uid();
    assert_eq!((one.report().host_uid, two.report().host_uid), (owner("s1"), owner("s2")));
    if !rustix::process::geteuid().is_root() {
        eprintln!("not root: every session runs as this user, their user numbers are not compared");
        return;
    }
    assert_ne!(owner("s1"), owner("s2"));
    assert!(owner("s1") >= 2_000_000_000 && owner("s2") >= 2_000_000_000);
    let mode = std::fs::metadata(bench.layer("s1")).unwrap().mode();
    assert_eq!(mode & 0o077, 0, "closed to every other user");
    one.close();
    bench.link("s1", 1).discard().unwrap();
    let third = bench.open("s3", 1);
    assert_ne!(third.report().host_uid, two.report().host_uid, "a number comes back, but not one in use");
}

#[test]
fn one_host_has_a_folder_and_a_socket() {
    let bench = Bench::new();
    let again = Host::start(config(bench.dir.path()), Box::new(|_| {}));
    assert!(again.unwrap_err().to_string().contains("another host"));
    let elsewhere = Config { state: bench.dir.path().join("other"), ..config(bench.dir.path()) };
    assert!(Host::start(elsewhere, Box::new(|_| {})).unwrap_err().to_string().contains("another host"));
    drop(bench.open("s1", 1));
}

#[test]
fn what_is_no_order_ends_its_connection_and_no_other() {
    use std::io::{Read, Write};
    let bench = Bench::new();
    let remote = bench.open("s1", 1);
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &[0xff; 64], &[2, 0, 0, 0, 0, 0, 0, 0, b'{', b'}']] {
        let mut stream = std::os::unix::net::UnixStream::connect(config(bench.dir.path()).socket).unwrap();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        // Reset or ended, and nothing was answered.
        drop(stream.read_to_end(&mut answer));
        assert!(answer.is_empty());
    }
    assert_eq!(run(&remote, "echo still").unwrap().1, "still\n");
}

/// A connection that has been greeted.
fn greeted(bench: &Bench) -> std::os::unix::net::UnixStream {
    use std::io::{Read, Write};
    let mut stream = std::os::unix::net::UnixStream::connect(config(bench.dir.path()).socket).unwrap();
    // One that is over the most is ended before it can say anything.
    let _ = stream.write_all(&frame(r#"{"version":1}"#, b""));
    let mut lengths = [0; 8];
    if stream.read_exact(&mut lengths).is_ok() {
        let mut welcome = vec![0; usize::from(lengths[0]) + 256 * usize::from(lengths[1])];
        stream.read_exact(&mut welcome).unwrap();
        assert!(String::from_utf8(welcome).unwrap().contains("welcome"));
    }
    stream
}

fn frame(head: &str, body: &[u8]) -> Vec<u8> {
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap().to_le_bytes();
    [&length(head.as_bytes()), &length(body), head.as_bytes(), body].concat()
}

/// Whether the other side has ended a connection. Waits for it, or for a word.
fn ended(stream: &mut std::os::unix::net::UnixStream) -> bool {
    use std::io::Read;
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    matches!(stream.read(&mut [0; 1]), Ok(0)) || stream.read(&mut [0; 1]).is_ok_and(|read| read == 0)
}

#[test]
fn what_breaks_off_or_lies_after_the_greeting_harms_no_session() {
    use std::io::Write;
    let bench = Bench::new();
    let remote = bench.open("s1", 1);
    let order = |session: &str, epoch: u64, order: &str| {
        format!(r#"{{"id":1,"session":"{session}","epoch":{epoch},"order":{order}}}"#)
    };
    let run_order = r#"{"order":"run","command":{"text":"sleep 1","seconds":null,"output_bytes":null}}"#;
    let whole = [
        order("../s1", 1, r#"{"order":"close"}"#),
        order("s1", 0, r#"{"order":"close"}"#),
        order("s1", 1, r#"{"order":"close","more":1}"#),
        order("s1", 1, r#"{"order":"halt"}"#),
        order("s2", 1, run_order),
        "{}".to_owned(),
        "\u{0}".to_owned(),
    ];
    for head in whole {
        greeted(&bench).write_all(&frame(&head, b"")).unwrap();
    }
    // Half a head, half a body, lengths without an end, a stream that is cut, and what is no stream.
    let over = frame(&order("s3", 1, r#"{"order":"over"}"#), b"");
    let long = [u32::MAX.to_le_bytes(), u32::MAX.to_le_bytes()].concat();
    let body = [&frame("{}", b"")[..4], &(64u32 << 20).to_le_bytes(), b"{}", b"half"].concat();
    for bytes in [&over[..over.len() / 2], &long, &body, &over, &[over.clone(), vec![9; 100]].concat()] {
        let mut stream = greeted(&bench);
        stream.write_all(bytes).unwrap();
        drop(stream);
    }
    let mut stream = greeted(&bench);
    stream.write_all(&long).unwrap();
    assert!(ended(&mut stream), "no memory is taken for what was only announced");
    assert_eq!(run(&remote, "cat hello").unwrap().1, "one\n");
    assert!(!bench.layer("s3").join("upper").exists(), "half a tree opens nothing");
}

#[test]
fn the_connections_of_one_user_are_bounded_and_sessions_that_are_open_go_on() {
    let bench = Bench::new();
    let remote = bench.open("s1", 1);
    let mut idle: Vec<_> = (0..200).map(|_| greeted(&bench)).collect();
    let refused = idle.iter_mut().skip(128).filter_map(|stream| ended(stream).then_some(())).count();
    assert_eq!(refused, 72, "those over the most");
    assert_eq!(run(&remote, "cat hello").unwrap().1, "one\n");
    drop(idle);
    let patience = Instant::now();
    while Link::connect(&config(bench.dir.path()).socket).is_err() {
        assert!(patience.elapsed() < Duration::from_mins(1), "room comes back");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(run(&remote, "cat hello").unwrap().1, "one\n");
}

#[test]
fn whatever_ceilings_a_gateway_wants_the_host_gives_no_more_than_its_own() {
    let bench = Bench::new();
    let mut link = bench.link("s1", 1);
    link.over(|sender| sender.plain(b"", Sort::Directory, 0o755)).unwrap();
    let limits = Limits { processes: 100_000, cpus: 4000, memory_bytes: 1 << 50, ..Limits::default() };
    let (remote, _) = link.open(Wish { limits, ..wish() }).unwrap();
    let output = run(&remote, "ulimit -u").unwrap().1;
    let most: u64 = output.trim().parse().unwrap();
    assert!(most <= 512 + 64, "{output}");
}
