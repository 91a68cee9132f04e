//! What the init is handed: its set-up, and the descriptors that it names by number, in their order.
use crate::copy::Made;
use crate::error::{OpenError, Place};
use crate::git;
use crate::idmap::{Mapper, plain_tree};
use crate::launch::Given;
use crate::plan::{Access, Backend, Plan};
use crate::platform::Identity;
use crate::report::Workspace;
use enclos_init::wire::{FIRST_FD, GitCopy, LimitsIn, MountIn, PrivateGit, Setup, Step};
use std::os::fd::OwnedFd;
use std::path::Path;

/// What the init gets by number, in order.
pub(super) struct Handover {
    pub(super) list: Vec<Given>,
    mapper: Option<Mapper>,
}

impl Handover {
    pub(super) fn new(identity: Identity, owner: (u32, u32)) -> Self {
        let mapper = (identity == Identity::Root).then(|| Mapper::new(owner));
        Self { list: Vec::new(), mapper }
    }

    fn put(&mut self, given: Given) -> i32 {
        let number = FIRST_FD.saturating_add(i32::try_from(self.list.len()).unwrap_or(i32::MAX));
        self.list.push(given);
        number
    }

    pub(super) fn descriptor(&mut self, fd: OwnedFd) -> i32 {
        self.put(Given::Open(fd))
    }

    /// A mount of the host's `path`, its owner mapped when root runs this.
    fn tree(&mut self, path: &Path, what: &str) -> Result<i32, OpenError> {
        let given = match &mut self.mapper {
            None => Given::Tree(path.to_owned()),
            Some(mapper) => {
                let tree = mapper.tree(path);
                Given::Open(tree.at(Step::IdMap, &format!("giving {what} to a user of the sandbox's own"))?)
            }
        };
        Ok(self.put(given))
    }

    /// A mount of the layer, which belongs to the sandbox's user already.
    fn layer(&mut self, path: &Path) -> Result<i32, OpenError> {
        let given = match self.mapper {
            None => Given::Tree(path.to_owned()),
            Some(_) => Given::Open(plain_tree(path).at(Step::Layer, "mounting the layer")?),
        };
        Ok(self.put(given))
    }
}

/// The init's set-up, and with it the descriptors that it names. The workspace is `made` already, or will be an overlay.
pub(super) fn set_up(
    plan: &Plan,
    git: Option<git::Private>,
    root_mode: u32,
    made: &Made,
    given: &mut Handover,
) -> Result<Setup, OpenError> {
    let lower = (made.workspace == Workspace::Overlay)
        .then(|| given.tree(&plan.workspace, "the repository"))
        .transpose()?;
    let over =
        plan.over.as_deref().map(|over| given.tree(over, "the tree over the repository")).transpose()?;
    let layer = given.layer(&plan.layer)?;
    let git = git.map(|git| private_git(git, given)).transpose()?;
    let mut mounts = Vec::new();
    let mut scratch = 0..;
    for mount in &plan.mounts {
        let shown = mount.host.display();
        let kind = std::fs::metadata(&mount.host).at(Step::Mounts, &format!("looking at `{shown}`"))?;
        if !kind.is_dir() && !kind.is_file() {
            return Err(OpenError::new(Step::Mounts, format!("`{shown}` is neither a folder nor a file")));
        }
        mounts.push(MountIn {
            tree: given.tree(&mount.host, &format!("`{shown}`"))?,
            inside: mount.inside.to_string_lossy().into_owned(),
            scratch: if mount.access == Access::ThrowAway { scratch.next() } else { None },
            file: !kind.is_dir(),
        });
    }
    Ok(Setup {
        lower,
        over_nothing: made.over_nothing,
        over,
        layer,
        git,
        mounts,
        environment: plan.environment.clone(),
        limits: LimitsIn {
            memory_bytes: plan.limits.memory_bytes,
            processes: plan.limits.processes,
            disk_bytes: plan.limits.disk_bytes,
        },
        root_mode: root_mode & 0o777,
        image: plan.backend != Backend::Namespaces,
    })
}

fn private_git(git: git::Private, given: &mut Handover) -> Result<PrivateGit, OpenError> {
    let copies = git
        .copies
        .into_iter()
        .map(|copy| GitCopy {
            from: given.descriptor(copy.file.into()),
            path: copy.path,
            modified: copy.modified,
        })
        .collect();
    let mut objects = Vec::new();
    for path in &git.objects {
        objects.push(given.tree(path, "the repository's objects")?);
    }
    Ok(PrivateGit { files: git.files, copies, objects })
}
