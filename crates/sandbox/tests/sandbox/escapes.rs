//! Attempts to get out, with canaries outside that they must not reach. The rows are those of the shared cases when
//! they are there, and the project's own in `tests/data/escapes.tsv` always.
use crate::support::{Bench, Inside, Ran, everyone, everyone_and_powerless_root};
use enclos_sandbox::{Backend, Command, Limits, Plan, Prefer, open};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};

const OWN: &str = include_str!("../data/escapes.tsv");
const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/cases/escape_cases.tsv");

/// Things of the host that must stay out of reach. They go when this is dropped.
struct Canaries {
    _tcp: Vec<TcpListener>,
    _sockets: Vec<UnixListener>,
    process: std::process::Child,
    files: Vec<PathBuf>,
    victim: PathBuf,
}

impl Canaries {
    fn new(repository: &Path) -> Self {
        let mut tcp = Vec::new();
        // Another run of these tests may hold the port: its listener serves as well.
        tcp.extend(TcpListener::bind("127.0.0.1:47811").ok());
        tcp.extend(TcpListener::bind("[::1]:47811").ok());
        let name = SocketAddr::from_abstract_name("enc-canary").expect("a name");
        let mut sockets: Vec<UnixListener> = UnixListener::bind_addr(&name).into_iter().collect();
        let mut files = Vec::new();
        for path in [PathBuf::from("/tmp/enc-canary.sock"), repository.join("canary.sock")] {
            sockets.extend(UnixListener::bind(&path));
            files.push(path);
        }
        let victim = PathBuf::from("/tmp/enc-victim");
        for (path, text) in [
            ("/tmp/enc-host-canary.txt", "canary\n"),
            ("/tmp/enc-victim", "victim\n"),
            ("/dev/shm/enc-shm", "shm\n"),
        ] {
            let _ = std::fs::write(path, text);
            let _ = std::fs::set_permissions(path, PermissionsExt::from_mode(0o666));
            files.push(path.into());
        }
        let process = std::process::Command::new("/bin/sleep").arg0("enc-canary-proc").arg("600").spawn();
        leave_descriptors_open();
        share_memory_and_messages();
        Self { _tcp: tcp, _sockets: sockets, process: process.expect("a process"), files, victim }
    }
}

/// Descriptors 50 (a file) and 51 (a folder), inheritable.
fn leave_descriptors_open() {
    for (path, number) in [("/tmp/enc-host-canary.txt", 50), ("/tmp", 51)] {
        let file = std::fs::File::open(path).expect("open");
        // SAFETY: two numbers; the copy stays open on purpose.
        unsafe { libc::dup2(file.as_raw_fd(), number) };
    }
}

fn share_memory_and_messages() {
    // SAFETY: numbers only.
    unsafe { libc::shmget(0x1eaf, 4096, libc::IPC_CREAT | 0o666) };
    // SAFETY: a constant name, a mode, and no attributes.
    unsafe {
        libc::mq_open(c"/enc-canary-mq".as_ptr(), libc::O_CREAT, 0o666, std::ptr::null::<libc::mq_attr>())
    };
    // SAFETY: constant strings and their length; the key goes into this user's ring.
    unsafe {
        libc::syscall(
            libc::SYS_add_key,
            c"user".as_ptr(),
            c"enc-host-key".as_ptr(),
            c"v".as_ptr(),
            1usize,
            -4,
        )
    };
}

impl Drop for Canaries {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        for file in &self.files {
            let _ = std::fs::remove_file(file);
        }
        // SAFETY: numbers only.
        let memory = unsafe { libc::shmget(0x1eaf, 4096, 0) };
        // SAFETY: removing a segment takes no structure.
        unsafe { libc::shmctl(memory, libc::IPC_RMID, std::ptr::null_mut()) };
        // SAFETY: a constant name.
        unsafe { libc::mq_unlink(c"/enc-canary-mq".as_ptr()) };
    }
}

fn rows(text: &str) -> Vec<(String, String)> {
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let mut columns = line.split('\t');
            Some((columns.next()?.to_owned(), columns.next()?.replace("$NL", "\n")))
        })
        .filter(|(_, text)| !text.starts_with("(harness)"))
        .collect()
}

/// Runs one row in a sandbox of its own. What it printed, when it got out.
fn attempt(plan: &Plan, (name, text): &(String, String)) -> Option<String> {
    let inside = Inside { sandbox: open(plan).expect("opens") };
    let ran: Ran = inside.run_as(&Command::new(text.as_str()));
    drop(inside);
    enclos_sandbox::remove_layer(&plan.layer).expect("a tree of any depth can be removed");
    (ran.out.contains("ESCAPED") || ran.err.contains("ESCAPED"))
        .then(|| format!("{name}: {} {}", ran.out, ran.err))
}

/// The rows of the shared cases that need more than a text for bash, and the test of this repository that runs each.
const BY_TESTS: [(&str, &str, &str); 8] = [
    (
        "fs-symlink-swap-race",
        "crates/sandbox/tests/sandbox/leftovers.rs",
        "a_link_that_is_swapped_leads_no_tool_out",
    ),
    (
        "fs-setup-symlink-race",
        "crates/sandbox/tests/sandbox/workspace.rs",
        "links_at_mount_points_are_not_followed",
    ),
    (
        "diff-toctou",
        "tests/scenarios/background.rs",
        "what_goes_on_rewriting_a_file_does_not_change_what_was_shown",
    ),
    ("tool-read-symlink", "crates/sandbox/tests/sandbox/files.rs", "no_path_and_no_link_leads_out"),
    (
        "session-reuse-after-end",
        "crates/sandbox/tests/sandbox/leftovers.rs",
        "the_next_session_finds_nothing_of_the_last",
    ),
    (
        "res-ignore-term",
        "crates/sandbox/tests/sandbox/commands.rs",
        "a_command_over_its_time_ends_with_its_whole_tree",
    ),
    ("env-state-leaks", "crates/sandbox/tests/sandbox/commands.rs", "starts_from_a_fixed_state_each_time"),
    (
        "life-open-fails-closed",
        "crates/sandbox/tests/sandbox/life.rs",
        "a_layer_that_cannot_be_had_fails_the_opening_by_name",
    ),
];

#[test]
fn every_case_that_needs_more_than_a_command_has_a_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (case, file, test) in BY_TESTS {
        let text = std::fs::read_to_string(root.join(file)).expect(file);
        assert!(text.contains(&format!("#[test]\nfn {test}() {{")), "`{case}`: no test `{test}` in {file}");
    }
    let shared = std::fs::read_to_string(SHARED).unwrap_or_default();
    let named = |case: &str| BY_TESTS.iter().any(|(name, ..)| *name == case);
    let without: Vec<&str> = shared
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .filter(|(case, rest)| rest.contains("(harness") && !named(case))
        .map(|(case, _)| case)
        .collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn no_way_out() {
    everyone_and_powerless_root("escapes::no_way_out", || {
        try_all(&Backend::Namespaces, Prefer::Overlay);
    });
}

/// The confinement does not depend on how the workspace is made.
#[test]
fn no_way_out_of_a_copy() {
    everyone("escapes::no_way_out_of_a_copy", || try_all(&Backend::Namespaces, Prefer::Copy));
}

/// Tries every row with this around the sandbox.
pub(crate) fn try_all(backend: &Backend, workspace_by: Prefer) {
    let shared = std::fs::read_to_string(SHARED).unwrap_or_default();
    let all: Vec<_> = rows(OWN).into_iter().chain(rows(&shared)).collect();
    assert!(all.len() >= 30);
    let mut bench = Bench::new();
    bench.plan.backend = backend.clone();
    bench.plan.workspace_by = workspace_by;
    bench.plan.limits = Limits { memory_bytes: 1 << 30, command_seconds: 20, ..Limits::default() };
    bench.plan.hidden = vec!["canary.sock".into()];
    let canaries = Canaries::new(bench.repository());
    // Most rows wait for something that does not come: four at a time.
    let failed: Vec<String> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..4)
            .map(|part| {
                let mut plan = bench.plan.clone();
                plan.layer = bench.root.path().join(format!("layer-{part}"));
                let rows = all.iter().skip(part).step_by(4);
                scope.spawn(move || rows.filter_map(|row| attempt(&plan, row)).collect::<Vec<_>>())
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().expect("ends")).collect()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert_eq!(std::fs::read_to_string(&canaries.victim).unwrap_or_default(), "victim\n");
    for number in 0..9 {
        let path = bench.repository().join(format!("f{number}.txt"));
        assert_eq!(std::fs::read_to_string(path).expect("there"), format!("file {number}\n"));
    }
    assert!(!Path::new("/tmp/enc-pwned").exists());
}
