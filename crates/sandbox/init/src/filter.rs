//! The filter of system calls: a list of what is allowed, with `ENOSYS` for the rest.
//!
//! In front stand the calls whose arguments matter: another architecture kills the process; numbers of the x32 ABI
//! answer `ENOSYS`; only Unix sockets can be made; no namespaces, no characters put into a terminal, no other
//! personality. `clone3`, whose flags lie in memory where a filter cannot look, is not on the list. The list itself is
//! searched by halves: the kernel runs the filter once for each call that exists whenever it is installed, which is
//! with every command.
use crate::fault::{Done, refused};
use crate::syscalls::ALLOWED;
use enclos_init::wire::Step;
use seccompiler::{BpfProgram, sock_filter};

/// The compiled filter.
pub(crate) type Program = BpfProgram;

#[cfg(not(target_arch = "x86_64"))]
compile_error!(
    "the filter of system calls is written for x86_64; another architecture needs a list of its own"
);

/// Flags of `clone` that make namespaces.
const NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP)
    .cast_unsigned();
/// Requests that put characters into a terminal's input.
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541C;
/// `personality` that only asks.
const ASK_PERSONALITY: u32 = 0xFFFF_FFFF;
const AUDIT_ARCH_X86_64: u32 = 0xC000_003E;
const X32_BIT: u32 = 0x4000_0000;

// Instructions of classic BPF, and where things are in `struct seccomp_data`. The low half of an argument is what the
// kernel reads of those that are looked at here.
const LOAD: u16 = 0x20;
const JUMP: u16 = 0x05;
const EQUAL: u16 = 0x15;
const GREATER: u16 = 0x25;
const AT_LEAST: u16 = 0x35;
const ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST: u32 = 16;
const SECOND: u32 = 24;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const NO_CALL: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
const NO_FAMILY: u32 = libc::SECCOMP_RET_ERRNO | libc::EAFNOSUPPORT.cast_unsigned();

const fn step(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// Compiles the filter.
pub(crate) fn build() -> Program {
    let unix = libc::AF_UNIX.cast_unsigned();
    let socket = [
        step(LOAD, FIRST, 0, 0),
        step(EQUAL, unix, 0, 1),
        step(RETURN, ALLOW, 0, 0),
        step(RETURN, NO_FAMILY, 0, 0),
    ];
    let clone = [
        step(LOAD, FIRST, 0, 0),
        step(ANY_BIT, NAMESPACES, 0, 1),
        step(RETURN, REFUSED, 0, 0),
        step(RETURN, ALLOW, 0, 0),
    ];
    let control = [
        step(LOAD, SECOND, 0, 0),
        step(EQUAL, TIOCSTI, 1, 0),
        step(EQUAL, TIOCLINUX, 0, 1),
        step(RETURN, REFUSED, 0, 0),
        step(RETURN, ALLOW, 0, 0),
    ];
    let personality = [
        step(LOAD, FIRST, 0, 0),
        step(EQUAL, 0, 1, 0),
        step(EQUAL, ASK_PERSONALITY, 0, 1),
        step(RETURN, ALLOW, 0, 0),
        step(RETURN, REFUSED, 0, 0),
    ];
    let mut program = vec![
        step(LOAD, ARCHITECTURE, 0, 0),
        step(EQUAL, AUDIT_ARCH_X86_64, 1, 0),
        step(RETURN, libc::SECCOMP_RET_KILL_PROCESS, 0, 0),
        step(LOAD, NUMBER, 0, 0),
        step(AT_LEAST, X32_BIT, 0, 1),
        step(RETURN, NO_CALL, 0, 0),
    ];
    for (call, block) in [
        (libc::SYS_socket, &socket[..]),
        (libc::SYS_socketpair, &socket),
        (libc::SYS_clone, &clone),
        (libc::SYS_ioctl, &control),
        (libc::SYS_personality, &personality),
    ] {
        let past = u8::try_from(block.len()).unwrap_or(u8::MAX);
        program.push(step(EQUAL, number(call), 0, past));
        program.extend_from_slice(block);
    }
    program.extend(search(&ranges(ALLOWED)));
    program
}

fn number(call: i64) -> u32 {
    u32::try_from(call).unwrap_or(u32::MAX)
}

/// The numbers as ranges, both ends included, in order.
fn ranges(calls: &[i64]) -> Vec<(u32, u32)> {
    let mut numbers: Vec<u32> = calls.iter().copied().map(number).collect();
    numbers.sort_unstable();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if number <= last.saturating_add(1) => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    ranges
}

/// Allows what is in one of the ranges, by halves.
fn search(ranges: &[(u32, u32)]) -> Program {
    match ranges {
        [] => vec![step(RETURN, NO_CALL, 0, 0)],
        [(first, last)] => vec![
            step(AT_LEAST, *first, 0, 2),
            step(GREATER, *last, 1, 0),
            step(RETURN, ALLOW, 0, 0),
            step(RETURN, NO_CALL, 0, 0),
        ],
        _ => {
            let (low, high) = ranges.split_at(ranges.len() / 2);
            let pivot = high.first().map_or(0, |(first, _)| *first);
            let (low, high) = (search(low), search(high));
            let mut program = vec![
                step(AT_LEAST, pivot, 0, 1),
                step(JUMP, u32::try_from(low.len()).unwrap_or(u32::MAX), 0, 0),
            ];
            program.extend(low);
            program.extend(high);
            program
        }
    }
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
                0x15 => at += jump(a == step.k),
                0x25 => at += jump(a > step.k),
                0x35 => at += jump(a >= step.k),
                0x45 => at += jump(a & step.k != 0),
                0x05 => at += usize::try_from(step.k).unwrap(),
                0x06 => return step.k,
                other => panic!("instruction {other:#x}"),
            }
        }
    }

    fn call(number: i64, argument: u64) -> u32 {
        answer(&build(), AUDIT_ARCH_X86_64, u32::try_from(number).unwrap(), argument)
    }

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
        let program = build();
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
                assert_eq!(call(number, family), NO_FAMILY, "family {family}");
            }
        }
    }

    #[test]
    fn no_namespaces_no_terminal_input_no_personality() {
        assert_eq!(call(libc::SYS_clone, 0x0100_0011), ALLOW);
        for flag in [libc::CLONE_NEWUSER, libc::CLONE_NEWNS, libc::CLONE_NEWNET, libc::CLONE_NEWPID] {
            assert_eq!(call(libc::SYS_clone, u64::from(flag.unsigned_abs())), REFUSED);
        }
        assert_eq!(call(libc::SYS_ioctl, 0x5401), ALLOW);
        assert_eq!(call(libc::SYS_ioctl, u64::from(TIOCSTI)), REFUSED);
        assert_eq!(call(libc::SYS_ioctl, 0xFFFF_FFFF_0000_541C), REFUSED, "high bits change nothing");
        assert_eq!(call(libc::SYS_personality, 0), ALLOW);
        assert_eq!(call(libc::SYS_personality, 0x0040_0000), REFUSED);
    }
}
