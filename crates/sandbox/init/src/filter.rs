//! The filter of system calls: a list of what is allowed, with `ENOSYS` for the rest.
//!
//! In front stand what is no system call of this machine (another architecture kills the process, numbers of the x32 ABI
//! answer `ENOSYS`) and the calls whose rule looks at an argument. `clone3`, whose flags lie in memory where a filter
//! cannot look, is not on the list. The list itself is searched by halves: the kernel runs the filter once for each call that exists whenever it is installed, which is
//! with every command.
use crate::fault::{Done, refused};
use crate::syscalls::{Rule, TABLE};
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
const THIRD: u32 = 32;
/// From the low half of an argument to its high half.
const HIGH: u32 = 4;
/// The size of core dumps among the limits of resources.
const CORE: u32 = libc::RLIMIT_CORE;

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const NO_CALL: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned();
const DONE: u32 = libc::SECCOMP_RET_ERRNO;
const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
const NO_FAMILY: u32 = libc::SECCOMP_RET_ERRNO | libc::EAFNOSUPPORT.cast_unsigned();

const fn step(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// Compiles the filter.
pub(crate) fn build() -> Program {
    compile(TABLE)
}

fn compile(table: &[(u32, Rule)]) -> Program {
    let mut program = vec![
        step(LOAD, ARCHITECTURE, 0, 0),
        step(EQUAL, AUDIT_ARCH_X86_64, 1, 0),
        step(RETURN, libc::SECCOMP_RET_KILL_PROCESS, 0, 0),
        step(LOAD, NUMBER, 0, 0),
        step(AT_LEAST, X32_BIT, 0, 1),
        step(RETURN, NO_CALL, 0, 0),
    ];
    for (number, rule) in table {
        let block = guard(*rule);
        if !block.is_empty() {
            let past = u8::try_from(block.len()).unwrap_or(u8::MAX);
            program.push(step(EQUAL, *number, 0, past));
            program.extend_from_slice(&block);
        }
    }
    program.extend(search(&ranges(table), 0));
    program
}

/// What is looked at besides the number; it ends with an answer. Empty: nothing.
fn guard(rule: Rule) -> Program {
    match rule {
        Rule::Allow => Vec::new(),
        Rule::Nothing => vec![step(RETURN, DONE, 0, 0)],
        Rule::Unix => vec![
            step(LOAD, FIRST, 0, 0),
            step(EQUAL, libc::AF_UNIX.cast_unsigned(), 0, 1),
            step(RETURN, ALLOW, 0, 0),
            step(RETURN, NO_FAMILY, 0, 0),
        ],
        Rule::NoNamespaces => vec![
            step(LOAD, FIRST, 0, 0),
            step(ANY_BIT, NAMESPACES, 0, 1),
            step(RETURN, REFUSED, 0, 0),
            step(RETURN, ALLOW, 0, 0),
        ],
        Rule::NoTerminalInput => vec![
            step(LOAD, SECOND, 0, 0),
            step(EQUAL, TIOCSTI, 1, 0),
            step(EQUAL, TIOCLINUX, 0, 1),
            step(RETURN, REFUSED, 0, 0),
            step(RETURN, ALLOW, 0, 0),
        ],
        Rule::NoCoreFirst => vec![
            step(LOAD, FIRST, 0, 0),
            step(EQUAL, CORE, 0, 1),
            step(RETURN, DONE, 0, 0),
            step(RETURN, ALLOW, 0, 0),
        ],
        Rule::NoCoreSecond => vec![
            step(LOAD, SECOND, 0, 0),
            step(EQUAL, CORE, 0, 4),
            step(LOAD, THIRD, 0, 0),
            step(EQUAL, 0, 0, 3),
            step(LOAD, THIRD + HIGH, 0, 0),
            step(EQUAL, 0, 0, 1),
            step(RETURN, ALLOW, 0, 0),
            step(RETURN, DONE, 0, 0),
        ],
        Rule::Ask => vec![
            step(LOAD, FIRST, 0, 0),
            step(EQUAL, 0, 1, 0),
            step(EQUAL, ASK_PERSONALITY, 0, 1),
            step(RETURN, ALLOW, 0, 0),
            step(RETURN, REFUSED, 0, 0),
        ],
    }
}

/// The numbers of the table as ranges, both ends included; it is in order. Those whose rule looks at more have their answer
/// before it comes to the ranges: they make none of their own, but do not cut one up either.
fn ranges(table: &[(u32, Rule)]) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32, bool)> = Vec::new();
    for (number, rule) in table {
        let plain = *rule == Rule::Allow;
        match ranges.last_mut() {
            Some((_, last, any)) if *last + 1 == *number => (*last, *any) = (*number, *any || plain),
            _ => ranges.push((*number, *number, plain)),
        }
    }
    ranges.into_iter().filter(|(_, _, any)| *any).map(|(first, last, _)| (first, last)).collect()
}

/// Allows what is in one of the ranges, by halves. The number is `from` at least.
fn search(ranges: &[(u32, u32)], from: u32) -> Program {
    match ranges {
        [] => vec![step(RETURN, NO_CALL, 0, 0)],
        [(first, last)] if *first == from => {
            vec![step(GREATER, *last, 1, 0), step(RETURN, ALLOW, 0, 0), step(RETURN, NO_CALL, 0, 0)]
        }
        [(first, last)] => vec![
            step(AT_LEAST, *first, 0, 2),
            step(GREATER, *last, 1, 0),
            step(RETURN, ALLOW, 0, 0),
            step(RETURN, NO_CALL, 0, 0),
        ],
        _ => {
            let (low, high) = ranges.split_at(ranges.len() / 2);
            let pivot = high.first().map_or(0, |(first, _)| *first);
            let (low, high) = (search(low, from), search(high, pivot));
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
    fn answer(program: &[sock_filter], arch: u32, number: u32, arguments: [u64; 3]) -> u32 {
        trace(program, arch, number, arguments, &mut |_| {})
    }

    /// As [`answer`], and tells which instructions are executed.
    fn trace(
        program: &[sock_filter],
        arch: u32,
        number: u32,
        arguments: [u64; 3],
        executed: &mut dyn FnMut(usize),
    ) -> u32 {
        let low = |value: u64| u32::try_from(value & 0xFFFF_FFFF).unwrap();
        let (mut at, mut a) = (0usize, 0u32);
        loop {
            let step = &program[at];
            executed(at);
            at += 1;
            let jump = |taken: bool| usize::from(if taken { step.jt } else { step.jf });
            match step.code {
                0x20 => {
                    a = match step.k {
                        0 => number,
                        4 => arch,
                        16 | 24 | 32 => low(arguments[(step.k as usize - 16) / 8]),
                        20 | 28 | 36 => low(arguments[(step.k as usize - 20) / 8] >> 32),
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
        answer(&build(), AUDIT_ARCH_X86_64, u32::try_from(number).unwrap(), [argument; 3])
    }

    /// Arguments that some rule tells apart.
    const WITNESSES: [[u64; 3]; 12] = [
        [0; 3],
        [1; 3],
        [2; 3],
        [4; 3],
        [4, 4, 0],
        [4, 4, 1 << 32],
        [0x1000_0000; 3],
        [0x5401; 3],
        [TIOCSTI as u64; 3],
        [TIOCLINUX as u64; 3],
        [0xFFFF_FFFF; 3],
        [7; 3],
    ];
    /// Past every number that there is.
    const NUMBERS: u32 = 1_000;

    #[test]
    fn everyday_calls_pass_and_unknown_ones_do_not_exist() {
        for (number, rule) in TABLE {
            let expected = if *rule == Rule::Nothing { DONE } else { ALLOW };
            let argument = u64::from(*rule == Rule::Unix);
            assert_eq!(call((*number).into(), argument), expected, "call {number}");
        }
        let known = |number| TABLE.iter().any(|(known, _)| *known == number);
        for number in (0..NUMBERS).filter(|number| !known(*number)) {
            assert_eq!(call(number.into(), 0), NO_CALL, "call {number}");
        }
        for number in [
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_pidfd_getfd,
            libc::SYS_mount,
            libc::SYS_move_mount,
            libc::SYS_fsopen,
            libc::SYS_pivot_root,
            libc::SYS_keyctl,
            libc::SYS_add_key,
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_userfaultfd,
            libc::SYS_io_uring_setup,
            libc::SYS_open_by_handle_at,
            libc::SYS_name_to_handle_at,
            libc::SYS_kexec_load,
            libc::SYS_init_module,
            libc::SYS_syslog,
            libc::SYS_clone3,
            libc::SYS_modify_ldt,
            libc::SYS_vmsplice,
            libc::SYS_chroot,
        ] {
            assert_eq!(call(number, 0), NO_CALL, "call {number}");
        }
    }

    #[test]
    fn no_rule_is_redundant() {
        let whole = build();
        let answers = |program: &[sock_filter], number: u32| {
            WITNESSES.map(|arguments| answer(program, AUDIT_ARCH_X86_64, number, arguments))
        };
        for (place, (number, rule)) in TABLE.iter().enumerate() {
            let mut without = TABLE.to_vec();
            without.remove(place);
            let without = compile(&without);
            assert_ne!(answers(&without, *number), answers(&whole, *number), "call {number} needs no row");
            for other in [number.saturating_sub(1), number + 1].into_iter().filter(|other| other != number) {
                assert_eq!(answers(&without, other), answers(&whole, other), "row {number} is about {other}");
            }
            if *rule != Rule::Allow {
                let mut plain = TABLE.to_vec();
                plain[place].1 = Rule::Allow;
                assert_ne!(
                    answers(&compile(&plain), *number),
                    answers(&whole, *number),
                    "{rule:?} of {number}"
                );
            }
        }
    }

    #[test]
    fn every_instruction_is_executed_by_some_call() {
        let program = build();
        let mut executed = vec![false; program.len()];
        for arch in [AUDIT_ARCH_X86_64, 0x4000_0003] {
            for number in (0..NUMBERS).chain([X32_BIT + 39]) {
                for arguments in WITNESSES {
                    trace(&program, arch, number, arguments, &mut |at| executed[at] = true);
                }
            }
        }
        let dead: Vec<usize> = (0..program.len()).filter(|at| !executed[*at]).collect();
        assert!(dead.is_empty(), "never reached: {dead:?}");
        assert!(program.len() < 4096, "the kernel takes no more");
    }

    #[test]
    fn the_size_of_core_dumps_stays() {
        assert_eq!(call(libc::SYS_setrlimit, 4), DONE);
        assert_eq!(call(libc::SYS_setrlimit, 7), ALLOW);
        let prlimit = u32::try_from(libc::SYS_prlimit64).unwrap();
        for (arguments, expected) in [
            ([0, 4, 0x7fff], DONE),
            ([0, 4, 1 << 40], DONE),
            ([0, 1 << 32 | 4, 0x7fff], DONE),
            ([0, 4, 0], ALLOW),
            ([0, 7, 0x7fff], ALLOW),
        ] {
            assert_eq!(answer(&build(), AUDIT_ARCH_X86_64, prlimit, arguments), expected, "{arguments:x?}");
        }
    }

    #[test]
    fn a_sync_of_all_disks_is_only_said_to_be_done() {
        assert_eq!(call(libc::SYS_sync, 0), DONE);
        assert_eq!(call(libc::SYS_fsync, 0), ALLOW);
    }

    #[test]
    fn other_abis_are_refused() {
        let program = build();
        assert_eq!(answer(&program, 0x4000_0003, 20, [0; 3]), libc::SECCOMP_RET_KILL_PROCESS);
        assert_eq!(answer(&program, AUDIT_ARCH_X86_64, X32_BIT + 39, [0; 3]), NO_CALL);
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
