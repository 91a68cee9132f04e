//! The environment of every command: built from nothing, the same each time. Nothing of the init's own is passed.
use enclos_init::wire::{HOME, Setup};

const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// `NAME=value` of each variable.
pub(crate) fn build(setup: &Setup) -> Vec<String> {
    let mut path = String::from(PATH);
    let mut others = Vec::new();
    for (name, value) in &setup.environment {
        if name == "PATH" {
            path = format!("{value}:{path}");
        } else {
            others.push(format!("{name}={value}"));
        }
    }
    let mut all = vec![
        format!("PATH={path}"),
        format!("HOME={HOME}"),
        "USER=agent".into(),
        "LOGNAME=agent".into(),
        "SHELL=/bin/bash".into(),
        "LANG=C.UTF-8".into(),
        "TZ=UTC".into(),
        "TERM=dumb".into(),
        "TMPDIR=/tmp".into(),
        "CI=1".into(),
        // Python's compiled files are nobody's work: they stay out of the workspace and of the change set.
        "PYTHONPYCACHEPREFIX=/tmp/.pycache".into(),
    ];
    all.extend(others);
    all
}
