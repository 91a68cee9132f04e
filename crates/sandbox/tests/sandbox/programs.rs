//! Everyday programs work under the filter, as far as this machine has them.
use crate::support::{Bench, everyone};
use enclos_sandbox::{Command, toolchains};
use std::path::PathBuf;

/// A program that must be there for the row to be run, a text for bash, and what it must print.
const PROGRAMS: [(&str, &str, &str); 14] = [
    (
        "bash",
        "x=$(echo a | tr a b); cat <(echo $x); [[ abc =~ b ]] && mapfile -t l < <(seq 3) && echo ${#l[@]}",
        "b\n3\n",
    ),
    (
        "git",
        "git init -q r && cd r && echo x > f && git add f && git -c user.name=a -c user.email=a@b commit -qm m && git log --oneline | wc -l && git gc -q && git fsck 2>/dev/null; echo $?",
        "1\n0\n",
    ),
    (
        "python3",
        "python3 -c 'import subprocess,threading,tempfile,multiprocessing as m\nt=threading.Thread(target=print,args=(1,));t.start();t.join()\nprint(subprocess.check_output([\"echo\",\"2\"]).decode().strip())\nq=m.Queue();p=m.Process(target=q.put,args=(3,));p.start();print(q.get());p.join()\ntempfile.TemporaryFile().write(b\"x\")'",
        "1\n2\n3\n",
    ),
    (
        "python3",
        "python3 -c 'import asyncio\nasync def f():\n  p=await asyncio.create_subprocess_exec(\"echo\",\"4\",stdout=-1)\n  return (await p.communicate())[0]\nprint(asyncio.run(f()).decode().strip())'",
        "4\n",
    ),
    (
        "gcc",
        "printf '#include <pthread.h>\\n#include <stdio.h>\\nvoid*f(void*x){puts(\"thread\");return 0;}int main(){pthread_t t;pthread_create(&t,0,f,0);pthread_join(t,0);return 0;}' > a.c && gcc -O2 -g -pthread a.c -o a && ./a",
        "thread\n",
    ),
    ("make", "printf 'all: b\\n\\t@echo made\\nb:\\n\\t@touch b\\n' > Makefile && make -j4 all", "made\n"),
    (
        "node",
        "node -e 'const {Worker}=require(\"worker_threads\");const c=require(\"child_process\");console.log(c.execSync(\"echo child\").toString().trim());new Worker(\"require(\\\"worker_threads\\\").parentPort.postMessage(\\\"worker\\\")\",{eval:true}).on(\"message\",console.log)'",
        "child\nworker\n",
    ),
    ("perl", "perl -e 'print join(\",\",map{$_*2}1..3),\"\\n\"; print `echo sub`'", "2,4,6\nsub\n"),
    ("tar", "mkdir d && echo x > d/f && tar czf d.tgz d && rm -r d && tar xzf d.tgz && cat d/f", "x\n"),
    ("find", "mkdir -p e/f && touch e/f/g && find e -type f | xargs ls -l | wc -l", "1\n"),
    ("sort", "seq 100000 | sort -rn --parallel=2 -S 1M | head -1", "100000\n"),
    ("ps", "ps -o comm= -p $$; true", "bash\n"),
    (
        "flock",
        "flock lock -c 'echo locked'; timeout 5 echo in-time; nice -n 5 echo nice; env -i /bin/echo clean",
        "locked\nin-time\nnice\nclean\n",
    ),
    (
        "cargo",
        "cargo init -q --vcs none --name p p 2>/dev/null && cd p && cargo run -q --offline",
        "Hello, world!\n",
    ),
];

#[test]
fn everyday_programs_work() {
    everyone("programs::everyday_programs_work", || {
        let mut bench = Bench::new();
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        for toolchain in toolchains::detect(&home).into_iter().filter(|toolchain| !toolchain.is_cache) {
            // A home that this user cannot read shows nothing.
            if toolchain.mounts.iter().all(|mount| mount.host.metadata().is_ok()) {
                bench.plan.mounts.extend(toolchain.mounts);
                bench.plan.environment.extend(toolchain.environment);
            }
        }
        let mut paths: Vec<String> = Vec::new();
        bench.plan.environment.retain(|(name, value)| {
            let path = name == "PATH";
            paths.extend(path.then(|| value.clone()));
            !path
        });
        bench.plan.environment.extend((!paths.is_empty()).then(|| ("PATH".to_owned(), paths.join(":"))));
        let inside = bench.open();
        let mut ran = 0;
        for (program, text, expected) in PROGRAMS {
            if inside.run(&format!("{program} --version")).exit.code != Some(0) {
                continue;
            }
            let got = inside.run_as(&Command::new(text));
            assert_eq!((got.out.as_str(), got.exit.code), (expected, Some(0)), "{program}: {got:?}");
            ran += 1;
        }
        assert!(ran >= 8, "bash, git and the usual tools are everywhere; only {ran} were run");
    });
}
