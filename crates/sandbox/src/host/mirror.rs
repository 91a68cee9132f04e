//! The bare mirror of a project's history on a host, and the questions to git about it.
//!
//! Git runs here with nothing of the environment, no configuration but what is given on its command line, no hooks and
//! no filters, on a repository that only this host writes. What comes in is checked as git checks a push; what is read
//! out are raw objects, never a checkout by git, which would convert what it writes.
use super::orders::Naming;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where programs are looked for.
const PROGRAMS: &str = "/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin";
/// Commits that are told to a gateway at most.
const TOLD: &str = "--count=64";
/// Most bytes of one pack.
const PACK: &str = "--max-input-size=17179869184";

/// A mirror.
#[derive(Debug)]
pub(crate) struct Mirror {
    folder: PathBuf,
}

/// An entry of a commit's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// `100644`, `100755`, `120000`.
    pub(crate) mode: u32,
    /// The object's name.
    pub(crate) object: String,
    /// Its path.
    pub(crate) path: Vec<u8>,
}

impl Mirror {
    /// The mirror in a folder, made when it is not there.
    pub(crate) fn open(folder: &Path, naming: Naming) -> io::Result<Self> {
        let mirror = Self { folder: folder.to_owned() };
        let format = match naming {
            Naming::Sha1 => "sha1",
            Naming::Sha256 => "sha256",
        };
        if !folder.join("HEAD").exists() {
            std::fs::create_dir_all(folder)?;
            mirror.ask(&[
                "init",
                "--bare",
                "--quiet",
                "--template=",
                &format!("--object-format={format}"),
                ".",
            ])?;
        }
        let found = mirror.ask(&["rev-parse", "--show-object-format"])?;
        if found.trim_ascii() == format.as_bytes() {
            Ok(mirror)
        } else {
            Err(io::Error::other("the project's objects are named in another way"))
        }
    }

    /// Whether a commit is there with all its history.
    pub(crate) fn has(&self, commit: &str) -> bool {
        self.ask(&["rev-parse", "--quiet", "--verify", &format!("{}^{{commit}}", name(commit))]).is_ok()
    }

    /// Commits that are there, the newest ones.
    pub(crate) fn commits(&self) -> io::Result<Vec<String>> {
        let answer = self.ask(&[
            "for-each-ref",
            TOLD,
            "--sort=-creatordate",
            "--format=%(objectname)",
            "refs/enclos/",
        ])?;
        Ok(String::from_utf8_lossy(&answer).lines().map(str::to_owned).collect())
    }

    /// Takes a pack that completes what is there to the history of a commit. Every object is checked, and that none is
    /// missing.
    pub(crate) fn take(&self, commit: &str, pack: &mut dyn Read) -> io::Result<()> {
        let mut child =
            self.start(&["index-pack", "--stdin", "--fix-thin", "--strict", PACK], Stdio::piped())?;
        let copied = match child.stdin.take() {
            Some(mut to) => io::copy(pack, &mut to).and_then(|_| to.flush()),
            None => Ok(()),
        };
        if copied.is_err() {
            child.kill()?;
        }
        let (answer, errors) = end(child)?;
        copied?;
        answer.ok_or_else(|| io::Error::other(format!("git does not take the history: {errors}")))?;
        self.ask(&["rev-list", "--objects", "--quiet", commit, "--not", "--all"])?;
        self.ask(&["update-ref", &name(commit), commit]).map(drop)
    }

    /// Writes an index of a commit.
    pub(crate) fn index(&self, commit: &str, to: &Path) -> io::Result<()> {
        let mut command = self.command(&["read-tree", commit]);
        command.env("GIT_INDEX_FILE", to).stdin(Stdio::null());
        let (answer, errors) = end(command.spawn()?)?;
        answer.map(drop).ok_or_else(|| io::Error::other(format!("git writes no index: {errors}")))
    }

    /// The files and links of a commit, in the order of their paths. Submodules are left out.
    pub(crate) fn list(&self, commit: &str) -> io::Result<Vec<Entry>> {
        let strange = || io::Error::other("the answer of git cannot be read");
        let answer = self.ask(&["ls-tree", "-r", "-z", "--full-tree", commit])?;
        let mut entries = Vec::new();
        for line in answer.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let tab = line.iter().position(|byte| *byte == b'\t').ok_or_else(strange)?;
            let (fields, path) = line.split_at(tab);
            let fields = str::from_utf8(fields).map_err(|_| strange())?;
            let mut fields = fields.split(' ');
            let (Some(mode), Some(kind), Some(object)) = (fields.next(), fields.next(), fields.next()) else {
                return Err(strange());
            };
            if kind != "blob" {
                continue;
            }
            let mode = u32::from_str_radix(mode, 8).map_err(|_| strange())?;
            entries.push(Entry {
                mode,
                object: object.to_owned(),
                path: path.iter().skip(1).copied().collect(),
            });
        }
        Ok(entries)
    }

    /// A reader of objects.
    pub(crate) fn blobs(&self) -> io::Result<Blobs> {
        let mut child = self.start(&["cat-file", "--batch"], Stdio::piped())?;
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        let to = child.stdin.take().ok_or_else(gone)?;
        let from = BufReader::new(child.stdout.take().ok_or_else(gone)?);
        Ok(Blobs { child, to: Some(to), from })
    }

    fn ask(&self, arguments: &[&str]) -> io::Result<Vec<u8>> {
        let (answer, errors) = end(self.start(arguments, Stdio::null())?)?;
        answer.ok_or_else(|| io::Error::other(format!("git failed: {errors}")))
    }

    fn start(&self, arguments: &[&str], input: Stdio) -> io::Result<Child> {
        self.command(arguments).stdin(input).spawn()
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that asks git about a mirror of this host")]
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command
            .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0"])
            .args(["-c", "protocol.allow=never", "-c", "core.alternateRefsCommand=true"])
            .args(arguments)
            .current_dir(&self.folder)
            .env_clear()
            .envs([
                ("PATH", PROGRAMS),
                ("LC_ALL", "C"),
                ("GIT_DIR", "."),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_NO_LAZY_FETCH", "1"),
                ("GIT_NO_REPLACE_OBJECTS", "1"),
                ("GIT_TERMINAL_PROMPT", "0"),
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// The name under which a commit is kept.
fn name(commit: &str) -> String {
    format!("refs/enclos/{commit}")
}

/// Waits for git. Its answer, if it succeeded, and the last line of what it said besides.
fn end(child: Child) -> io::Result<(Option<Vec<u8>>, String)> {
    let output = child.wait_with_output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let last = errors.lines().last().unwrap_or_default().escape_debug().take(300).collect();
    Ok((output.status.success().then_some(output.stdout), last))
}

/// Objects, one after the other.
#[derive(Debug)]
pub(crate) struct Blobs {
    child: Child,
    to: Option<std::process::ChildStdin>,
    from: BufReader<std::process::ChildStdout>,
}

impl Blobs {
    /// Asks for one object, and hands a reader of exactly its bytes to `take`, which reads all of them.
    pub(crate) fn read<T>(
        &mut self,
        object: &str,
        take: impl FnOnce(&mut dyn Read) -> io::Result<T>,
    ) -> io::Result<T> {
        let strange = || io::Error::other("an object of the history cannot be read");
        let to = self.to.as_mut().ok_or_else(strange)?;
        writeln!(to, "{object}")?;
        to.flush()?;
        let mut head = String::new();
        self.from.by_ref().take(1024).read_line(&mut head)?;
        let mut words = head.trim_end().split(' ').skip(1);
        let (Some("blob"), Some(size)) = (words.next(), words.next()) else { return Err(strange()) };
        let size: u64 = size.parse().map_err(|_| strange())?;
        let mut content = self.from.by_ref().take(size);
        let taken = take(&mut content)?;
        if content.limit() != 0 {
            return Err(strange());
        }
        self.from.read_exact(&mut [0])?;
        Ok(taken)
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        drop(self.to.take());
        // It ends with its input, or by this; either way it is waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
