//! A session that works in a copy of the tree ends with the change set of one that works in an overlay: the same files,
//! the same digest, the same patch, and the same tree once it is applied.

mod changeset_support;

use changeset_support::{Tree, commit, file, link, program, read, tree, write};
use enclos_gateway::changeset::{
    Choice, FileChange, Workspace, record_hidden, record_opening, record_unclean,
};
use std::os::unix::fs::PermissionsExt;

use enclos_sandbox::{Backend, Command, Limits, Plan, Prefer, open};

fn base() -> Tree {
    let numbered =
        |count: usize| (0..count).map(|n| "line ".to_owned() + &n.to_string() + "\n").collect::<String>();
    tree([
        ("edited.txt", file(numbered(20))),
        ("renamed.txt", file(numbered(30))),
        ("renamed-and-edited.txt", file(numbered(30))),
        ("run.sh", program("#!/bin/sh\n")),
        ("plain.sh", file("#!/bin/sh\n")),
        ("link", link("edited.txt")),
        ("image.bin", file([0_u8, 159, 146, 150, 0, 1])),
        ("gone/a", file("a\n")),
        ("gone/deep/b", file("b\n")),
        ("folder/in", file("in\n")),
        ("file", file("a file\n")),
        ("again/kept", file("kept\n")),
        ("again/lost", file("lost\n")),
        ("secret.env", file("KEY=1\n")),
        ("untouched/x", file("x\n")),
        ("Makefile", file("all:\n")),
        ("tool", program("#!/bin/sh\n")),
        ("was-suid", program("#!/bin/sh\n")),
        ("was-suid-edited", program("#!/bin/sh\n")),
    ])
}

const WORK: &str = "set -e; sed -i 's/line 7/line seven/' edited.txt; mv renamed.txt new-name.txt; \
    sed 's/line 3$/line three/' renamed-and-edited.txt > elsewhere.txt; rm renamed-and-edited.txt; chmod -x run.sh; \
    chmod +x plain.sh; ln -sfn run.sh link; printf '\\0\\1\\2\\377' > image.bin; rm -r gone; rm -r folder; echo now > folder; \
    rm file; mkdir file; echo in > file/in; rm -r again; mkdir again; echo kept > again/kept; echo t >> Makefile; \
    echo mine > secret.env; mkfifo pipe; ln -s /etc/passwd out; printf 'no end' > no-end; touch empty; echo x > run2; chmod 755 run2; \
    echo s > suid; chmod 4755 suid; chmod 6755 tool; echo more >> was-suid-edited; mkdir shared; chmod 3777 shared; echo in > shared/f";

/// The digest, the patch, what is told of each file, and the tree after the application.
fn session(by: Prefer) -> (String, Vec<u8>, Vec<String>, Tree) {
    let folder = tempfile::tempdir().unwrap();
    let (workspace, layer) = (folder.path().join("repository"), folder.path().join("layer"));
    std::fs::create_dir(&workspace).unwrap();
    write(&workspace, &base());
    commit(&workspace);
    for name in ["was-suid", "was-suid-edited"] {
        std::fs::set_permissions(workspace.join(name), PermissionsExt::from_mode(0o4755)).unwrap();
    }
    let hidden = vec!["secret.env".into()];
    record_opening(&layer).unwrap();
    record_hidden(&layer, &hidden).unwrap();
    let plan = Plan {
        workspace: workspace.clone(),
        over: None,
        owner: None,
        layer: layer.clone(),
        hidden,
        masked: Vec::new(),
        git: Some(workspace.join(".git")),
        mounts: Vec::new(),
        environment: Vec::new(),
        limits: Limits { command_seconds: 60, ..Limits::default() },
        backend: Backend::Namespaces,
        workspace_by: by,
    };
    let sandbox = open(&plan).unwrap_or_else(|error| panic!("{error} (to mend it: {})", error.remedy()));
    record_unclean(&workspace, &layer).unwrap();
    let exit = sandbox.run(&Command::new(WORK), &mut |_, _| {}).unwrap();
    assert_eq!(exit.code, Some(0));
    sandbox.close();
    // What the session did not know of goes into the same three-way.
    std::fs::write(workspace.join("untouched/x"), "changed outside\n").unwrap();
    let mut opened = Workspace::open(&workspace, &layer).unwrap();
    let set = opened.build(&|file: &FileChange, _: &str| vec![file.path.len().to_string()]).unwrap();
    let patch = opened.patch(&set, &Choice::All).unwrap();
    let mut told: Vec<String> = set.files.iter().map(|file| format!("{file:?}")).collect();
    told.extend(set.refused.iter().map(|refused| format!("{refused:?}")));
    told.push(set.ignored.to_string());
    let without: Vec<&str> =
        set.files.iter().map(|file| file.path.as_str()).filter(|path| *path != "secret.env").collect();
    opened.apply(&set, &Choice::files(without), &folder.path().join("session")).unwrap();
    (set.digest.as_str().to_owned(), patch.bytes, told, read(&workspace))
}

#[test]
fn a_copy_and_an_overlay_end_in_the_same_change_set() {
    let overlay = session(Prefer::Overlay);
    let copy = session(Prefer::Copy);
    assert_eq!(overlay.2, copy.2);
    assert_eq!(String::from_utf8_lossy(&overlay.1), String::from_utf8_lossy(&copy.1));
    assert_eq!(overlay.1, copy.1);
    assert_eq!(overlay.0, copy.0);
    assert_eq!(overlay.3, copy.3);
    let flagged = |name: &str| {
        let path = format!("path: \"{name}\"");
        overlay.2.iter().any(|told| told.contains(&path) && told.contains("privileged-bits-stripped"))
    };
    assert!(flagged("suid"), "what was made setuid is flagged: {:#?}", overlay.2);
    let untouched = |told: &String| !told.contains("\"was-suid\"") && !told.contains("\"tool\"");
    assert!(overlay.2.iter().all(untouched), "bits alone, which are never applied, are no change");
    assert!(overlay.2.len() > 15, "{:?}", overlay.2);
    assert_eq!(copy.3.get("untouched/x"), Some(&file("changed outside\n")));
    assert_eq!(copy.3.get("new-name.txt"), base().get("renamed.txt"));
    assert_eq!(copy.3.get("gone/a"), None);
}
