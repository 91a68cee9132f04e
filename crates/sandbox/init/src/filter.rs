//! The filter of system calls: a list of what is allowed, with `ENOSYS` for the rest.
//!
//! In front of the list stand checks that the list's compiler does not make: another architecture kills the
//! process; numbers of the x32 ABI and `clone3` (whose flags lie in memory where a filter cannot look) answer
//! `ENOSYS`; any socket but a Unix socket answers `EAFNOSUPPORT`. Nothing is decided at run time.
use crate::fault::{Done, refused};
use crate::syscalls::ALLOWED;
use enclos_init::wire::{Failure, Step};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, sock_filter,
};
use std::collections::BTreeMap;

/// The compiled filter.
pub(crate) type Program = BpfProgram;

#[cfg(not(target_arch = "x86_64"))]
compile_error!(
    "the filter of system calls is written for x86_64; another architecture needs a list of its own"
);

/// Flags of `clone` that make namespaces.
const NAMESPACES: u64 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u64;
/// Requests that put characters into a terminal's input.
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541C;
/// `personality` that only asks.
const ASK_PERSONALITY: u64 = 0xFFFF_FFFF;
const AUDIT_ARCH_X86_64: u32 = 0xC000_003E;
const X32_BIT: u32 = 0x4000_0000;

/// Compiles the filter.
pub(crate) fn build() -> Done<Program> {
    list().map_err(|error| Failure {
        step: Step::Seccomp,
        message: format!("compiling the filter: {error}"),
        errno: 0,
    })
}

fn list() -> Result<Program, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|number| (*number, Vec::new())).collect();
    let word = SeccompCmpArgLen::Dword;
    let condition =
        |argument, operation, value| SeccompCondition::new(argument, word.clone(), operation, value);
    let rule = |conditions| SeccompRule::new(conditions);
    rules.insert(libc::SYS_clone, vec![rule(vec![condition(0, SeccompCmpOp::MaskedEq(NAMESPACES), 0)?])?]);
    rules.insert(
        libc::SYS_ioctl,
        vec![rule(vec![
            condition(1, SeccompCmpOp::Ne, TIOCSTI)?,
            condition(1, SeccompCmpOp::Ne, TIOCLINUX)?,
        ])?],
    );
    rules.insert(
        libc::SYS_personality,
        vec![
            rule(vec![condition(0, SeccompCmpOp::Eq, 0)?])?,
            rule(vec![condition(0, SeccompCmpOp::Eq, ASK_PERSONALITY)?])?,
        ],
    );
    for socket in [libc::SYS_socket, libc::SYS_socketpair] {
        let unix = u64::from(libc::AF_UNIX.unsigned_abs());
        rules.insert(socket, vec![rule(vec![condition(0, SeccompCmpOp::Eq, unix)?])?]);
    }
    let rest = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let filter = SeccompFilter::new(rules, rest, SeccompAction::Allow, TargetArch::x86_64)?;
    let mut program = prelude();
    program.extend(BpfProgram::try_from(filter)?);
    Ok(program)
}

/// The checks in front. Offsets are those of `struct seccomp_data`: 0 number, 4 architecture, 16 first argument.
fn prelude() -> Program {
    const LOAD: u16 = 0x20;
    const EQUAL: u16 = 0x15;
    const AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let errno = |number: i32| libc::SECCOMP_RET_ERRNO | number.unsigned_abs();
    let number = |syscall: i64| u32::try_from(syscall).unwrap_or(u32::MAX);
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD, 0, 0, 4),
        step(EQUAL, 1, 0, AUDIT_ARCH_X86_64),
        step(RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
        step(LOAD, 0, 0, 0),
        step(AT_LEAST, 1, 0, X32_BIT),
        step(EQUAL, 0, 1, number(libc::SYS_clone3)),
        step(RETURN, 0, 0, errno(libc::ENOSYS)),
        step(EQUAL, 1, 0, number(libc::SYS_socket)),
        step(EQUAL, 0, 3, number(libc::SYS_socketpair)),
        step(LOAD, 0, 0, 16),
        step(EQUAL, 1, 0, libc::AF_UNIX.unsigned_abs()),
        step(RETURN, 0, 0, errno(libc::EAFNOSUPPORT)),
    ]
}

/// Puts the filter in force for this process and all that come of it.
pub(crate) fn install(program: &Program) -> Done<()> {
    match seccompiler::apply_filter(program) {
        Ok(()) => Ok(()),
        Err(error) => refused(Step::Seccomp, format!("installing the filter: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the classic filter as the kernel would.
    fn answer(program: &[sock_filter], arch: u32, number: u32, argument: u64) -> u32 {
        let low = |value: u64| u32::try_from(value & 0xFFFF_FFFF).unwrap();
        let (mut at, mut a) = (0usize, 0u32);
        loop {
            let step = &program[at];
            at += 1;
            let jump = |taken: bool| usize::from(if taken { step.jt } else { step.jf });
            match step.code {
                0x20 => {
                    a = match step.k {
                        0 => number,
                        4 => arch,
                        16 | 24 => low(argument),
                        20 | 28 => low(argument >> 32),
                        _ => 0,
                    }
                }
                0x54 => a &= step.k,
                0x15 => at += jump(a == step.k),
                0x25 => at += jump(a > step.k),
                0x35 => at += jump(a >= step.k),
                0x05 => at += usize::try_from(step.k).unwrap(),
                0x06 => return step.k,
                other => panic!("instruction {other:#x}"),
            }
        }
    }

    fn call(number: i64, argument: u64) -> u32 {
        answer(&build().unwrap(), AUDIT_ARCH_X86_64, u32::try_from(number).unwrap(), argument)
    }

    const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
    const NO_CALL: u32 = libc::SECCOMP_RET_ERRNO + 38;

    #[test]
    fn everyday_calls_pass_and_unknown_ones_do_not_exist() {
        for number in ALLOWED {
            assert_eq!(call(*number, 0), ALLOW, "call {number}");
        }
        for number in
            [libc::SYS_unshare, libc::SYS_ptrace, libc::SYS_mount, libc::SYS_keyctl, 425, 600, 9_999]
        {
            assert_eq!(call(number, 0), NO_CALL, "call {number}");
        }
    }

    #[test]
    fn other_abis_are_refused() {
        let program = build().unwrap();
        assert_eq!(answer(&program, 0x4000_0003, 20, 0), libc::SECCOMP_RET_KILL_PROCESS);
        assert_eq!(answer(&program, AUDIT_ARCH_X86_64, X32_BIT + 39, 0), NO_CALL);
        assert_eq!(call(libc::SYS_clone3, 0), NO_CALL);
    }

    #[test]
    fn only_unix_sockets_exist() {
        for number in [libc::SYS_socket, libc::SYS_socketpair] {
            assert_eq!(call(number, 1), ALLOW);
            assert_eq!(call(number, 1 << 32 | 1), ALLOW, "the kernel reads the low half only");
            for family in [0, 2, 10, 16, 17, 38, 40, 1 << 32 | 2] {
                assert_eq!(call(number, family), libc::SECCOMP_RET_ERRNO + 97, "family {family}");
            }
        }
    }

    #[test]
    fn no_namespaces_no_terminal_input_no_personality() {
        assert_eq!(call(libc::SYS_clone, 0x0100_0011), ALLOW);
        for flag in [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWNET, libc::CLONE_NEWPID] {
            assert_eq!(call(libc::SYS_clone, u64::from(flag.unsigned_abs())), NO_CALL);
        }
        assert_eq!(call(libc::SYS_ioctl, 0x5401), ALLOW);
        assert_eq!(call(libc::SYS_ioctl, TIOCSTI), NO_CALL);
        assert_eq!(call(libc::SYS_ioctl, 0xFFFF_FFFF_0000_541C), NO_CALL, "high bits change nothing");
        assert_eq!(call(libc::SYS_personality, 0), ALLOW);
        assert_eq!(call(libc::SYS_personality, 0x0040_0000), NO_CALL);
    }
}
