//! Named pipes and sockets of the host that can be seen inside: nothing passes through them.
use crate::support::{Bench, everyone, is_root};
use enclos_sandbox::{Access, Mount, Prefer};
use rustix::fs::{CWD, FileType, Mode};
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

/// Tries to pass something on and to take something in, by each name; prints what worked.
const TRY: &str = "for p in $PLACES; do \
    if [ -p $p/pipe ]; then timeout 1 bash -c 'echo secret > '$p/pipe 2>/dev/null && echo WROTE $p; \
        timeout 1 bash -c 'read -r x < '$p/pipe 2>/dev/null && echo READ $p; fi; \
    if [ -S $p/sock ] && command -v python3 >/dev/null; then python3 -c 'import socket,sys\n\
s=socket.socket(socket.AF_UNIX)\n\
try:\n\
 s.connect(sys.argv[1]); print(\"CONNECTED\", sys.argv[1])\n\
except OSError: pass' $p/sock; fi; done; echo done";

/// A folder with a pipe that is being written and read outside, and a socket that is served.
struct Trap {
    folder: PathBuf,
    pipe: std::fs::File,
    _socket: UnixListener,
}

impl Trap {
    fn set(folder: &Path) -> Self {
        std::fs::create_dir_all(folder).expect("a folder");
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).expect("a mode");
        let pipe = folder.join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o666), 0).expect("a pipe");
        let socket = UnixListener::bind(folder.join("sock")).expect("a socket");
        for name in ["pipe", "sock"] {
            std::fs::set_permissions(folder.join(name), PermissionsExt::from_mode(0o666)).expect("a mode");
        }
        // Open for both: whoever opens the pipe inside need not wait for an other side.
        let pipe = std::fs::File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(pipe)
            .expect("open");
        std::io::Write::write_all(&mut (&pipe), b"from outside\n").expect("written");
        Self { folder: folder.to_owned(), pipe, _socket: socket }
    }

    /// What the pipe holds is what was put in outside.
    fn untouched(&self) {
        let mut held = [0; 64];
        let count = (&self.pipe).read(&mut held).expect("something is there");
        assert_eq!(held.get(..count), Some(&b"from outside\n"[..]), "{}", self.folder.display());
    }
}

#[test]
fn pipes_and_sockets_of_the_host_lead_nowhere() {
    everyone("special::pipes_and_sockets_of_the_host_lead_nowhere", || {
        for by in [Prefer::Overlay, Prefer::Copy] {
            let mut bench = Bench::new();
            bench.plan.workspace_by = by;
            let tools = bench.root.path().join("tools");
            let traps = [
                Trap::set(&bench.repository().join("in")),
                Trap::set(&bench.repository().join("target/deep")),
                Trap::set(&tools),
            ];
            for (name, access) in [("t", Access::ReadOnly), ("c", Access::ThrowAway)] {
                let inside = format!("/opt/toolchains/{name}").into();
                bench.plan.mounts.push(Mount { host: tools.clone(), inside, access });
            }
            let inside = bench.open();
            let places = "/workspace/in /workspace/target/deep /opt/toolchains/t /opt/toolchains/c";
            assert_eq!(inside.out(&format!("PLACES='{places}'; {TRY}")), "done\n", "{by:?}");
            drop(inside);
            traps.iter().for_each(Trap::untouched);
        }
    });
}

/// The system's folders too: anybody could be served by a socket in one of them.
#[test]
fn sockets_in_system_folders_are_not_reached() {
    if !is_root() {
        return;
    }
    let name = format!("enclos-test-{}", std::process::id());
    let folders = [Path::new("/opt").join(&name), Path::new("/usr/local/lib").join(&name)];
    let traps: Vec<Trap> = folders.iter().map(|folder| Trap::set(folder)).collect();
    let result = std::panic::catch_unwind(|| {
        let inside = Bench::new().open();
        let places: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let places = places.join(" ");
        assert_eq!(inside.out(&format!("ls -d {places} | wc -l")), "2\n", "they are seen");
        assert_eq!(inside.out(&format!("PLACES='{places}'; {TRY}")), "done\n");
    });
    for folder in &folders {
        std::fs::remove_dir_all(folder).expect("removed");
    }
    traps.iter().for_each(Trap::untouched);
    result.expect("nothing is reached");
}
