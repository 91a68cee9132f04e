//! The system calls that may be made inside: what compilers, interpreters, shells, test runners and version control
//! need. They are kept as a table, `syscalls.tsv`, beside the code. Everything that is not there answers `ENOSYS`:
//! namespaces, mounts, tracing, kernel keys, `io_uring`, bpf, perf, handles, clocks, modules, whatever a later kernel adds.

/// What is answered to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Rule {
    /// It is made, whatever its arguments are.
    Allow,
    /// It succeeds and nothing is done: `sync` would have the whole machine write its disks.
    Nothing,
    /// Only for the family `AF_UNIX`.
    Unix,
    /// Not with a flag that makes a namespace.
    NoNamespaces,
    /// Not to put characters into a terminal's input.
    NoTerminalInput,
    /// Succeeds without effect for the size of core dumps, the first argument: with a size of 0 a program of the host that
    /// the kernel hands dumps to would get them.
    NoCoreFirst,
    /// The same with the second argument, unless it only asks.
    NoCoreSecond,
    /// Only to ask what is in force, or for what is the default.
    Ask,
}

include!(concat!(env!("OUT_DIR"), "/syscalls.rs"));
