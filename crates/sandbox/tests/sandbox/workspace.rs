//! The copy-on-write workspace: what is in it, what is not, where changes go.
use crate::git::host;
use crate::support::{Bench, everyone};
use enclos_sandbox::{Access, Mount, OpenError, Step, open, remove_layer};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

fn failed(bench: &Bench) -> OpenError {
    match open(&bench.plan) {
        Ok(_) => panic!("it opens"),
        Err(error) => error,
    }
}

#[test]
fn changes_stay_in_the_layer() {
    everyone("workspace::changes_stay_in_the_layer", || {
        let bench = Bench::new();
        bench.write("dir/kept.txt", "kept\n");
        std::fs::set_permissions(bench.repository().join("f5.txt"), PermissionsExt::from_mode(0o400))
            .expect("closed");
        let inside = bench.open();
        inside.out(
            "echo more >> f1.txt; rm f2.txt; mv f3.txt g3.txt; echo new > n.txt; chmod +x f4.txt; \
             chmod u+w f5.txt; echo x >> f5.txt; rm -r dir; mkdir dir; echo other > dir/o.txt; ln -s f1.txt l; echo x >> f0.txt",
        );
        assert_eq!(
            inside.out("cat f1.txt; ls dir; stat -c '%U %G' f1.txt n.txt ."),
            "file 1\nmore\no.txt\nagent agent\nagent agent\nagent agent\n"
        );
        inside.sandbox.close();
        let read = |name: &str| std::fs::read_to_string(bench.repository().join(name));
        for number in 0..9 {
            assert_eq!(read(&format!("f{number}.txt")).expect("there"), format!("file {number}\n"));
        }
        assert_eq!(read("dir/kept.txt").expect("there"), "kept\n");
        assert!(read("n.txt").is_err() && read("g3.txt").is_err());
        let upper = bench.plan.layer.join("upper");
        assert_eq!(std::fs::read_to_string(upper.join("f1.txt")).expect("changed"), "file 1\nmore\n");
        assert!(upper.join("n.txt").exists() && !upper.join("f6.txt").exists());
        assert!(
            std::fs::read_dir(&upper)
                .expect("upper")
                .flatten()
                .all(|e| !e.file_name().to_string_lossy().starts_with(".enclos"))
        );
    });
}

#[test]
fn a_layer_is_used_again_by_one_at_a_time() {
    everyone("workspace::a_layer_is_used_again_by_one_at_a_time", || {
        let bench = Bench::new();
        let first = bench.open();
        first.out("echo a > a; rm f1.txt; echo t > /tmp/t; echo s > /dev/shm/s; echo h > ~/.bashrc");
        assert_eq!(failed(&bench).step, Step::Layer);
        first.sandbox.close();
        let second = bench.open();
        assert_eq!(
            second.out("cat a; ls f1.txt 2>&1 | grep -c No; ls -A /tmp /dev/shm ~ | tr -d '\\n'"),
            "a\n1\n/dev/shm:/home/agent:/tmp:"
        );
        second.out("echo b >> a; echo 1 > f1.txt");
        second.sandbox.killer().kill_all();
        drop(second);
        assert_eq!(bench.open().out("cat a f1.txt"), "a\nb\n1\n");
        remove_layer(&bench.plan.layer).expect("removed");
        assert!(!bench.plan.layer.exists());
        assert_eq!(bench.open().out("cat f1.txt; ls a 2>/dev/null || echo gone"), "file 1\ngone\n");
    });
}

#[test]
fn hidden_names_do_not_exist() {
    everyone("workspace::hidden_names_do_not_exist", || {
        let mut bench = Bench::new();
        bench.write(".env", "SECRET=1");
        bench.write("config/prod/.key", "k");
        bench.write("config/prod/app.toml", "a");
        bench.write("build/out/x", "x");
        bench.write("sub/.git/config", "[remote]");
        std::fs::set_permissions(bench.repository().join("config"), PermissionsExt::from_mode(0o750))
            .expect("mode");
        let names = [".env", "config/prod/.key", "build", "build/out/x", "sub/.git", "not/there"];
        bench.plan.hidden = names.iter().map(PathBuf::from).collect();
        let inside = bench.open();
        assert_eq!(
            inside.out("ls -A; ls -A config/prod sub; stat -c %a config"),
            "config\nf0.txt\nf1.txt\nf2.txt\nf3.txt\nf4.txt\nf5.txt\nf6.txt\nf7.txt\nf8.txt\nsub\nconfig/prod:\napp.toml\n\nsub:\n750\n"
        );
        assert_eq!(
            inside.out("find / -xdev -name '.key' 2>/dev/null; cat .env 2>/dev/null || echo none"),
            "none\n"
        );
        inside
            .out("echo mine > .env; mkdir build; echo y > config/prod/.key; echo b >> config/prod/app.toml");
        assert_eq!(inside.out("cat .env config/prod/.key; ls build"), "mine\ny\n");
        assert_eq!(std::fs::read_to_string(bench.repository().join(".env")).expect("there"), "SECRET=1");
        bench.plan.hidden = vec![PathBuf::from("../etc")];
        drop(inside);
        assert_eq!(failed(&bench).step, Step::Plan);
    });
}

#[test]
fn links_at_mount_points_are_not_followed() {
    everyone("workspace::links_at_mount_points_are_not_followed", || {
        let mut bench = Bench::new();
        let victim = bench.root.path().join("victim");
        std::fs::create_dir(&victim).expect("a victim");
        for name in [".git", "target", "node_modules", ".lower", ".layer"] {
            std::os::unix::fs::symlink(&victim, bench.repository().join(name)).expect("linked");
        }
        let inside = bench.open();
        assert_eq!(inside.run("ls -d .git target/. 2>/dev/null").out, "", "no `.git`, and the link dangles");
        inside.out("git init -q . 2>/dev/null; echo x > x");
        drop(inside);
        bench.plan.mounts = vec![Mount {
            host: bench.repository().to_owned(),
            inside: "/workspace/target".into(),
            access: Access::ThrowAway,
        }];
        assert_eq!(failed(&bench).step, Step::Mounts);
        assert_eq!(std::fs::read_dir(&victim).expect("there").count(), 0);
    });
}

#[test]
fn mounts_are_read_only_or_thrown_away() {
    everyone("workspace::mounts_are_read_only_or_thrown_away", || {
        let mut bench = Bench::new();
        let host = bench.root.path().join("tools");
        std::fs::create_dir_all(host.join("bin")).expect("tools");
        std::fs::write(host.join("bin/tool"), "#!/bin/sh\necho tool\n").expect("a tool");
        std::fs::set_permissions(host.join("bin/tool"), PermissionsExt::from_mode(0o755)).expect("mode");
        std::fs::write(host.join("private"), "p").expect("a file");
        std::fs::set_permissions(host.join("private"), PermissionsExt::from_mode(0o600)).expect("mode");
        bench.write("target/old.o", "o");
        let mount = |inside: &str, host: &std::path::Path, access| Mount {
            host: host.to_owned(),
            inside: inside.into(),
            access,
        };
        bench.plan.mounts = vec![
            mount("/opt/toolchains/t", &host, Access::ReadOnly),
            mount("/opt/toolchains/cache", &host, Access::ThrowAway),
            mount("/workspace/target", &bench.repository().join("target"), Access::ThrowAway),
        ];
        bench.plan.environment = vec![("PATH".into(), "/opt/toolchains/t/bin".into())];
        let inside = bench.open();
        assert_eq!(inside.out("tool; cat /opt/toolchains/cache/private"), "tool\np");
        assert_ne!(inside.run("echo x > /opt/toolchains/t/x").exit.code, Some(0));
        inside.out("echo x > /opt/toolchains/cache/x; rm /opt/toolchains/cache/private; echo n > target/new.o; rm target/old.o");
        inside.sandbox.close();
        assert!(host.join("private").exists() && !host.join("x").exists());
        assert!(
            bench.repository().join("target/old.o").exists()
                && !bench.repository().join("target/new.o").exists()
        );
        assert!(!bench.plan.layer.join("upper/target/new.o").exists(), "no part of what the session changed");
        let inside = bench.open();
        assert_eq!(
            inside.out("ls target /opt/toolchains/cache"),
            "/opt/toolchains/cache:\nbin\nprivate\n\ntarget:\nold.o\n"
        );
    });
}

#[test]
fn plans_that_cannot_be_meant_are_refused() {
    everyone("workspace::plans_that_cannot_be_meant_are_refused", || {
        let step = |change: fn(&mut Bench)| {
            let mut bench = Bench::new();
            change(&mut bench);
            let error = failed(&bench);
            assert!(error.to_string().contains(error.step.name()) && !error.remedy().is_empty(), "{error}");
            error.step
        };
        assert_eq!(step(|b| b.plan.workspace = b.root.path().join("gone")), Step::Plan);
        assert_eq!(step(|b| b.plan.environment = vec![("LD_PRELOAD".into(), "x".into())]), Step::Plan);
        assert_eq!(step(|b| b.plan.limits.processes = 1), Step::Plan);
        assert_eq!(step(|b| b.plan.layer = b.plan.workspace.join("f1.txt")), Step::Layer);
        let mount = |inside: &str, host: PathBuf| {
            vec![Mount { host, inside: inside.into(), access: Access::ReadOnly }]
        };
        let mut bench = Bench::new();
        bench.plan.mounts = mount("/etc", bench.root.path().to_owned());
        assert_eq!(failed(&bench).step, Step::Plan);
        bench.plan.mounts = mount("/opt/x", bench.root.path().join("gone"));
        assert_eq!(failed(&bench).step, Step::Mounts);
        bench.plan.mounts = mount("/workspace/not/there", bench.root.path().to_owned());
        assert_eq!(failed(&bench).step, Step::Mounts);
    });
}

#[test]
fn the_mount_table_names_nothing_of_the_host() {
    everyone("workspace::the_mount_table_names_nothing_of_the_host", || {
        let mut bench = Bench::new();
        for (name, access) in [("tool", Access::ReadOnly), ("cache", Access::ThrowAway)] {
            let host = bench.root.path().join(name);
            std::fs::create_dir(&host).expect("a folder");
            std::fs::write(host.join("f"), name).expect("a file");
            let inside = format!("/opt/toolchains/{name}").into();
            bench.plan.mounts.push(Mount { host, inside, access });
        }
        let has_git = host(bench.repository(), &["init", "-q"]).is_some();
        bench.plan.git = has_git.then(|| bench.repository().join(".git"));
        let inside = bench.open();
        assert_eq!(inside.out("cat /opt/toolchains/*/f"), "cachetool");
        if has_git {
            assert_eq!(inside.out("git status --short | wc -l"), "9\n");
        }
        assert_ne!(inside.run("echo x > /opt/toolchains/tool/f").exit.code, Some(0));
        let table =
            inside.out("cat /proc/self/mountinfo /proc/self/mounts /proc/self/mountstats 2>/dev/null");
        let name = bench.root.path().file_name().expect("a name").to_string_lossy().into_owned();
        assert!(!table.contains(&name), "{table}");
        assert_eq!(
            inside
                .out("ls -A / | tr '\\n' ' '")
                .replace("nix ", "")
                .replace("lib32 ", "")
                .replace("libx32 ", ""),
            "bin dev etc home lib lib64 opt proc run sbin tmp usr var workspace "
        );
    });
}

#[test]
fn a_layer_that_was_left_half_made_is_made_whole() {
    everyone("workspace::a_layer_that_was_left_half_made_is_made_whole", || {
        let bench = Bench::new();
        for folder in ["upper.new", "work.new"] {
            std::fs::create_dir_all(bench.plan.layer.join(folder)).expect("a folder");
        }
        let inside = bench.open();
        assert_eq!(inside.out("echo x > new; cat new"), "x\n");
        inside.sandbox.close();
        assert!(bench.plan.layer.join("upper/new").exists() && !bench.plan.layer.join("work.new").exists());
    });
}
