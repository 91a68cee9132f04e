//! A repository and a layer in a temporary folder, a sandbox on them, and running a test as a plain user too.
use enclos_sandbox::{
    Backend, Command, Exit, FileError, FileOp, FileReply, Limits, Plan, Prefer, Sandbox, Stream, open,
};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The plain user of these tests: nobody's account.
const PLAIN: u32 = 12_345;

/// Runs `body` here and, when this is root, as a plain user as well. `name` is the test's whole name.
pub(crate) fn everyone(name: &str, body: fn()) {
    body();
    if is_root() && std::env::var_os(ALONE).is_none() {
        let mut plain = again(name);
        plain.uid(PLAIN).gid(PLAIN);
        must_pass(plain, "as a plain user");
    }
}

/// As [`everyone`], and when this is root also as number 0 with no capability but the one that the kernel wants of
/// whoever maps that number.
pub(crate) fn everyone_and_powerless_root(name: &str, body: fn()) {
    everyone(name, body);
    if is_root() && std::env::var_os(ALONE).is_none() {
        let mut powerless = again(name);
        let drop_all = || {
            for capability in (0..64).filter(|capability| *capability != CAP_SETFCAP) {
                // SAFETY: numbers only; one that does not exist is an error without effect.
                unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
            }
            Ok(())
        };
        // SAFETY: the closure makes system calls and nothing else.
        unsafe { powerless.pre_exec(drop_all) };
        must_pass(powerless, "as number 0 without power");
    }
}

const CAP_SETFCAP: i32 = 31;

/// Set for a copy of this program that runs one test for one kind of user.
const ALONE: &str = "ENCLOS_TEST_ALONE";

fn again(name: &str) -> std::process::Command {
    let mut command = std::process::Command::new(readable_copy());
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]).env("TMPDIR", "/tmp").env(ALONE, "1");
    command
}

fn must_pass(mut command: std::process::Command, who: &str) {
    let output = command.output().expect("this program starts again");
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{who}:\n{text}");
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

const COPIES: &str = "enclos-tests-";

/// A program cannot remove its copy when it is the last to know that it is over: the next run does.
fn remove_copies_of_the_dead() {
    for entry in std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(owner) = name.strip_prefix(COPIES)
            && !Path::new("/proc").join(owner).exists()
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// This program where everybody can read it.
fn readable_copy() -> &'static Path {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| {
        remove_copies_of_the_dead();
        let folder = std::env::temp_dir().join(format!("{COPIES}{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let copy = folder.join("tests");
        std::fs::copy(std::env::current_exe().expect("this program"), &copy).expect("copied");
        for path in [&folder, &copy] {
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("readable");
        }
        copy
    })
}

/// A repository, a layer, and what a plan says of them.
pub(crate) struct Bench {
    pub(crate) root: tempfile::TempDir,
    pub(crate) plan: Plan,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let workspace = root.path().join("repository");
        std::fs::create_dir(&workspace).expect("a repository");
        for number in 0..9 {
            std::fs::write(workspace.join(format!("f{number}.txt")), format!("file {number}\n"))
                .expect("a file");
        }
        let plan = Plan {
            workspace,
            over: None,
            owner: None,
            layer: root.path().join("layer"),
            hidden: Vec::new(),
            masked: Vec::new(),
            git: None,
            mounts: Vec::new(),
            environment: Vec::new(),
            limits: Limits { command_seconds: 60, ..Limits::default() },
            backend: Backend::Namespaces,
            workspace_by: Prefer::Overlay,
        };
        Self { root, plan }
    }

    pub(crate) fn repository(&self) -> &Path {
        &self.plan.workspace
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.repository().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        std::fs::write(path, content).expect("a file");
    }

    pub(crate) fn open(&self) -> Inside {
        match open(&self.plan) {
            Ok(sandbox) => Inside { sandbox },
            Err(error) => panic!("{error} (to mend it: {})", error.remedy()),
        }
    }
}

/// An open sandbox with short ways to use it.
pub(crate) struct Inside {
    pub(crate) sandbox: Sandbox,
}

/// What a command printed and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) exit: Exit,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Inside {
    pub(crate) fn run(&self, text: &str) -> Ran {
        self.run_as(&Command::new(text))
    }

    pub(crate) fn run_as(&self, command: &Command) -> Ran {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let exit = self
            .sandbox
            .run(command, &mut |stream, bytes| match stream {
                Stream::Stdout => out.extend_from_slice(bytes),
                Stream::Stderr => err.extend_from_slice(bytes),
            })
            .expect("the command runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { exit, out: text(out), err: text(err) }
    }

    /// Standard output of a command that must succeed.
    pub(crate) fn out(&self, text: &str) -> String {
        let ran = self.run(text);
        assert_eq!(ran.exit.code, Some(0), "`{text}`: {ran:?}");
        ran.out
    }

    pub(crate) fn file(&self, op: &FileOp) -> Result<FileReply, FileError> {
        self.sandbox.file(op)
    }
}

/// Whether a process with this text among its arguments is alive on the host.
pub(crate) fn alive(text: &str) -> bool {
    std::fs::read_dir("/proc").expect("proc").flatten().any(|entry| {
        entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit())
            && std::fs::read(entry.path().join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).replace('\0', " ").contains(text))
    })
}

/// Waits until `condition` holds; a test fails that waits too long.
pub(crate) fn until(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..1000 {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("waited too long until {what}");
}
