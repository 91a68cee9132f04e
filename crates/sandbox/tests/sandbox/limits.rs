//! Ceilings count what has no name: removed files, files without content, memory that belongs to no process.
use crate::support::{Bench, Inside, everyone};
use enclos_sandbox::{Killed, Limits};

const MIB: u64 = 1 << 20;

/// Runs each text under a ceiling that it goes over, then something harmless.
fn each_is_ended(limits: &Limits, reason: Killed, texts: &[(&str, String)]) {
    for (what, text) in texts {
        let mut bench = Bench::new();
        bench.plan.limits = limits.clone();
        let inside: Inside = bench.open();
        let ran = inside.run(text);
        assert_eq!(ran.exit.killed, Some(reason), "{what}: {ran:?}");
        assert_eq!(inside.out("rm -rf f* x*; echo on"), "on\n", "{what}");
    }
}

fn python(text: &str) -> String {
    format!("/usr/bin/python3 -c '{text}'; sleep 50")
}

/// Whether the machine has what the rows below are written in.
fn has_python() -> bool {
    std::path::Path::new("/usr/bin/python3").exists()
}

#[test]
fn disk_that_no_name_shows_is_counted() {
    everyone("limits::disk_that_no_name_shows_is_counted", || {
        let limits = Limits { disk_bytes: 8 * MIB, command_seconds: 60, ..Limits::default() };
        let mut texts = vec![
            (
                "removed files that are open",
                "for i in 1 2 3 4; do exec {d}>f; rm f; head -c 4000000 /dev/zero >&$d; done; sleep 50"
                    .to_owned(),
            ),
            ("files without content", "for i in $(seq 4000); do : > x$i; done; sleep 50".to_owned()),
            ("folders", "mkdir $(seq -f f%g 4000); sleep 50".to_owned()),
            ("links", "for i in $(seq 4000); do ln -s a x$i; done 2>/dev/null; sleep 50".to_owned()),
        ];
        if has_python() {
            let mapped = "import mmap,os,time\nk=[]\nfor i in range(4):\n  f=open(\"f\",\"w+b\"); f.truncate(4000000)\n  \
                          m=mmap.mmap(f.fileno(),4000000); f.close(); os.remove(\"f\"); m.write(b\"x\"*4000000); m.flush(); k.append(m)\n\
                          time.sleep(50)";
            texts.push(("removed files that are mapped", python(mapped)));
        }
        each_is_ended(&limits, Killed::Disk, &texts);
    });
}

#[test]
fn memory_that_no_process_shows_is_counted() {
    everyone("limits::memory_that_no_process_shows_is_counted", || {
        if !has_python() {
            return;
        }
        let limits = Limits { memory_bytes: 128 * MIB, command_seconds: 60, ..Limits::default() };
        let texts = [
            (
                "a file in memory",
                python(
                    "import os,time\nf=os.memfd_create(\"x\")\nfor i in range(300): os.write(f,b\"x\"*1000000)\ntime.sleep(50)",
                ),
            ),
            (
                "a segment of System V",
                python(
                    "import ctypes as c,time\nl=c.CDLL(None)\nl.shmat.restype=c.c_void_p\nfor i in range(30):\n  \
                        s=l.shmget(0,10000000,0o1600); p=l.shmat(s,None,0); c.memset(p,1,10000000); l.shmdt(c.c_void_p(p))\ntime.sleep(50)",
                ),
            ),
        ];
        each_is_ended(&limits, Killed::Oom, &texts);
    });
}

#[test]
fn a_plain_kill_is_not_told_as_a_want_of_memory() {
    everyone("limits::a_plain_kill_is_not_told_as_a_want_of_memory", || {
        let bench = Bench::new();
        let inside = bench.open();
        let ran = inside.run("kill -KILL $$");
        assert_eq!((ran.exit.signal, ran.exit.killed), (Some(libc::SIGKILL), None));
        let ran = inside.run("(kill -KILL $BASHPID); exit 137");
        assert_eq!((ran.exit.code, ran.exit.killed), (Some(137), None));
    });
}
