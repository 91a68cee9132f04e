//! Questions to git about the person's own repository.
//!
//! Git runs in their tree only, never in one that an agent wrote; with nothing of the environment, no system or user
//! configuration, no hooks, no monitor, no lock and no fetch. It is asked what the index holds, which paths are
//! ignored, and for the bytes of objects: never to write into the repository, and never to compare the tree, which would run the filters
//! that a repository may name. Where git is missing or fails the answer is "not known".

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use enclos_sandbox::layer::Stamp;

use super::content::MAX_TEXT;
use super::model::Mode;

/// Where programs are looked for: fixed, so that no directory of the tree can name one.
const PROGRAMS: &str = "/usr/local/bin:/usr/bin:/bin:/run/current-system/sw/bin";
/// The most bytes of an answer.
const MAX_ANSWER: u64 = 256 << 20;
/// Paths asked about at once.
const BATCH: usize = 500;

/// Git on one repository.
#[derive(Clone, Debug)]
pub(super) struct Git {
    repository: PathBuf,
    index: Option<PathBuf>,
    /// Where objects are written, and where those of the repository are read.
    objects: Option<(PathBuf, PathBuf)>,
    /// The time of a commit that is made.
    time: Option<String>,
}

/// Who makes a commit that is no person's.
const NOBODY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Enclos"),
    ("GIT_AUTHOR_EMAIL", "enclos@localhost"),
    ("GIT_COMMITTER_NAME", "Enclos"),
    ("GIT_COMMITTER_EMAIL", "enclos@localhost"),
];

/// An entry of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tracked {
    /// From the root that git was asked in.
    pub(super) path: String,
    /// File or link; `None` for a submodule or an unfinished merge.
    pub(super) mode: Option<Mode>,
    /// The object's name.
    pub(super) object: String,
    /// The size that the file had in the tree when the entry was made.
    pub(super) size: u64,
    /// The last change that the file had in the tree when the entry was made.
    pub(super) changed: Stamp,
}

impl Git {
    /// Git in a repository.
    pub(super) fn new(repository: &Path) -> Self {
        Self { repository: repository.to_owned(), index: None, objects: None, time: None }
    }

    /// The same, over a copy of the index.
    pub(super) fn with_index(repository: &Path, index: PathBuf) -> Self {
        Self { index: Some(index), ..Self::new(repository) }
    }

    /// The same, with another folder for the objects that it writes; those of the repository are read.
    pub(super) fn writing(repository: &Path, index: PathBuf, into: PathBuf, objects: PathBuf) -> Self {
        Self { objects: Some((into, objects)), ..Self::with_index(repository, index) }
    }

    /// The same, for a commit of a certain time.
    pub(super) fn at(self, time: String) -> Self {
        Self { time: Some(time), ..self }
    }

    /// The git directory.
    pub(super) fn directory(&self) -> Option<PathBuf> {
        let answer = self.ask(&["rev-parse", "--absolute-git-dir"]).ok()?;
        Some(PathBuf::from(String::from_utf8(answer).ok()?.trim_end_matches('\n')))
    }

    /// Runs a command whose answer is a list of paths, each ended by a NUL. Names that are not UTF-8 are left out.
    pub(super) fn paths(&self, arguments: &[&str]) -> io::Result<Vec<String>> {
        let answer = self.ask(arguments)?;
        let names = answer.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect())
    }

    /// The entries of the index at some paths.
    pub(super) fn tracked(&self, paths: &[&str]) -> io::Result<Vec<Tracked>> {
        let mut found = Vec::new();
        for batch in paths.chunks(BATCH) {
            let mut arguments = vec!["--literal-pathspecs", "ls-files", "--stage", "--debug", "-z", "--"];
            arguments.extend(batch);
            found.extend(parse(&self.ask(&arguments)?)?);
        }
        Ok(found)
    }

    /// Every entry of the index. Nothing of the tree is read for it: a comparison by git would run the filters that
    /// the repository's configuration names.
    pub(super) fn all_tracked(&self) -> io::Result<Vec<Tracked>> {
        parse(&self.ask(&["ls-files", "--stage", "--debug", "-z"])?)
    }

    /// The bytes of some objects, in order; `None` for one that is missing, no blob, or over [`MAX_TEXT`].
    pub(super) fn blobs(&self, objects: &[&str]) -> io::Result<Vec<Option<Vec<u8>>>> {
        let mut child = self.start(&["cat-file", "--batch"], Stdio::piped())?;
        let result = exchange(&mut child, objects);
        if result.is_err() {
            child.kill()?;
        }
        child.wait()?;
        result
    }

    /// Runs a command and takes its answer.
    pub(super) fn ask(&self, arguments: &[&str]) -> io::Result<Vec<u8>> {
        let mut child = self.start(arguments, Stdio::null())?;
        let mut answer = Vec::new();
        let read = match child.stdout.take() {
            Some(out) => out.take(MAX_ANSWER + 1).read_to_end(&mut answer),
            None => Ok(0),
        };
        if read.is_err() || answer.len() as u64 > MAX_ANSWER {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::other("the answer of git is too long to be read"));
        }
        let status = child.wait()?;
        if status.success() { Ok(answer) } else { Err(io::Error::other(format!("git failed: {status}"))) }
    }

    /// Runs a command that is told something, and takes its answer.
    pub(super) fn tell(&self, arguments: &[&str], told: &[u8]) -> io::Result<Vec<u8>> {
        let mut child = self.start(arguments, Stdio::piped())?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let mut answer = Vec::new();
        // Git answers while it is told: neither waits for the other.
        let (told, read) = std::thread::scope(|scope| {
            let teller = scope.spawn(move || to.map_or(Ok(()), |mut to| to.write_all(told)));
            let read = from.map_or(Ok(0), |from| from.take(MAX_ANSWER).read_to_end(&mut answer));
            (teller.join().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into())), read)
        });
        let status = child.wait()?;
        told.and(read)?;
        if status.success() { Ok(answer) } else { Err(io::Error::other(format!("git failed: {status}"))) }
    }

    /// Starts git with a clean environment.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks git about the person's own repository"
    )]
    pub(super) fn start(&self, arguments: &[&str], input: Stdio) -> io::Result<Child> {
        let mut command = Command::new("git");
        command
            .args([
                "-c",
                "core.fsmonitor=false",
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "core.untrackedCache=false",
                "-c",
                "core.splitIndex=false",
            ])
            .args(arguments)
            .current_dir(&self.repository)
            .env_clear()
            .envs([
                ("PATH", PROGRAMS),
                ("LC_ALL", "C"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_OPTIONAL_LOCKS", "0"),
                ("GIT_NO_LAZY_FETCH", "1"),
                ("GIT_NO_REPLACE_OBJECTS", "1"),
                ("GIT_TERMINAL_PROMPT", "0"),
            ])
            .stdin(input)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(index) = &self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        if let Some((into, objects)) = &self.objects {
            command.env("GIT_OBJECT_DIRECTORY", into).env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects);
        }
        if let Some(time) = &self.time {
            command.envs(NOBODY).env("GIT_AUTHOR_DATE", time).env("GIT_COMMITTER_DATE", time);
        }
        command.spawn()
    }
}

/// Asks for one object after the other.
fn exchange(child: &mut Child, objects: &[&str]) -> io::Result<Vec<Option<Vec<u8>>>> {
    let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
    let mut to = child.stdin.take().ok_or_else(gone)?;
    let mut from = BufReader::new(child.stdout.take().ok_or_else(gone)?);
    let mut contents = Vec::with_capacity(objects.len());
    for object in objects {
        writeln!(to, "{object}")?;
        to.flush()?;
        let mut head = String::new();
        from.by_ref().take(1024).read_line(&mut head)?;
        let mut words = head.trim_end().split(' ').skip(1);
        let (Some(kind), Some(size)) = (words.next(), words.next()) else {
            contents.push(None);
            continue;
        };
        let size: u64 = size.parse().map_err(io::Error::other)?;
        if kind == "blob" && size <= MAX_TEXT {
            let mut content = Vec::new();
            from.by_ref().take(size).read_to_end(&mut content)?;
            contents.push(Some(content));
        } else {
            io::copy(&mut from.by_ref().take(size), &mut io::sink())?;
            contents.push(None);
        }
        from.read_exact(&mut [0])?;
    }
    Ok(contents)
}

/// Reads `ls-files --stage --debug -z`: `MODE OBJECT STAGE\tPATH\0` and lines of which one says `size: N`.
fn parse(answer: &[u8]) -> io::Result<Vec<Tracked>> {
    let strange = || io::Error::other("the answer of git cannot be read");
    let mut found = Vec::new();
    let mut rest = answer;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == 0).ok_or_else(strange)?;
        let (head, tail) = rest.split_at(end);
        let tail = tail.get(1..).unwrap_or_default();
        let until = tail.windows(7).position(|window| window == b"flags: ").ok_or_else(strange)?;
        let line_end = tail.iter().skip(until).position(|byte| *byte == b'\n').ok_or_else(strange)?;
        let (debug, next) = tail.split_at(until + line_end + 1);
        rest = next;
        let tab = head.iter().position(|byte| *byte == b'\t').ok_or_else(strange)?;
        let (fields, path) = head.split_at(tab);
        let (Ok(fields), Ok(path)) =
            (str::from_utf8(fields), String::from_utf8(path.iter().skip(1).copied().collect()))
        else {
            continue;
        };
        let mut fields = fields.split(' ');
        let (mode, object, stage) = (fields.next(), fields.next(), fields.next());
        let mode = match (mode, stage) {
            (Some("100644"), Some("0")) => Some(Mode::Regular),
            (Some("100755"), Some("0")) => Some(Mode::Executable),
            (Some("120000"), Some("0")) => Some(Mode::Link),
            _ => None,
        };
        let debug = String::from_utf8_lossy(debug);
        let size = debug.split("size: ").nth(1).and_then(|text| text.split(['\t', '\n']).next());
        let size = size.and_then(|text| text.trim().parse().ok()).ok_or_else(strange)?;
        let changed = debug.split("ctime: ").nth(1).and_then(|text| text.split('\n').next());
        let changed = changed.and_then(|text| text.trim().split_once(':')).ok_or_else(strange)?;
        let (Ok(seconds), Ok(nanoseconds)) = (changed.0.parse(), changed.1.parse()) else {
            return Err(strange());
        };
        let changed = Stamp { seconds, nanoseconds };
        found.push(Tracked { path, mode, object: object.ok_or_else(strange)?.to_owned(), size, changed });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::{Mode, parse};

    #[test]
    fn the_index_is_read_with_its_sizes() {
        let answer =
            b"100755 ce013625030ba8dba906f756967f9e9ca394464a 0\ta b\0  ctime: 1:2\n  mtime: 1:2\n  \
            dev: 3\tino: 4\n  uid: 0\tgid: 0\n  size: 6\tflags: 0\n160000 aa 0\tsub\0  ctime: 1:2\n  \
            size: 0\tflags: 0\n";
        let found = parse(answer).unwrap();
        assert_eq!(
            (found[0].path.as_str(), found[0].mode, found[0].size),
            ("a b", Some(Mode::Executable), 6)
        );
        assert_eq!((found[1].path.as_str(), found[1].mode), ("sub", None));
        assert!(parse(b"100644 aa 0\tx\0 nothing").is_err());
    }
}
