//! A search for texts that take more than linear time: steps are counted, not milliseconds.
//!
//! Texts are put together at random from units that nest, multiply, hand on or look ahead. Whatever they do, a text
//! takes no more than so many steps for each byte: it is read by then, or refused.

use proptest::prelude::*;

use super::super::MAX_TEXT;
use super::{UNITS, steps};

/// Steps that any text may take, and steps for each byte of it: what the reader allows itself, and a little for what
/// it does between two looks at the count.
const FREE: usize = 20_000;
const PER_BYTE: usize = 128;

/// Units that the plain table does not have: what carries, hands on and looks at operands.
const MORE: [&str; 58] = [
    "rm -rf /etc ",
    "rm rm ",
    "install ",
    "chmod -v ",
    "cp a ",
    "dd of=",
    "strace ",
    "strace -f rm ",
    "jobs -x ",
    "parallel ::: ",
    "hyperfine '",
    "tmux '",
    "tar --to-command='",
    "git -c alias.x='!",
    "git submodule foreach '",
    "vim -c '!",
    "make <<E\n",
    "crontab <<E\n",
    "python -c '",
    "system(\"",
    "perl -e '`",
    "node -e 'run([\"",
    "trap '",
    "alias x='",
    "PAGER='",
    "env PAGER='",
    "bash -c '",
    "bash -c \"",
    "watch '",
    "{1..9}",
    "{a..z}",
    "{{a,b},",
    "@(",
    "!(a|",
    "shopt -s extglob\n",
    "[[ a == +(",
    "x[$(",
    "let 'x[$(",
    "cd /etc;",
    "cd ..;",
    "> /tmp/x ",
    "2>&1 >&2 ",
    "find . -exec find . -exec ",
    "xargs xargs env ",
    "((x));",
    "echo $((x));",
    "x='a[$(",
    "a=(b)c ",
    "echo >&'$(id)' ",
    "env -S '-S ",
    "xargs -I X rm X <<< 'a\n",
    "xargs rm <<< 'a ",
    "sed -e 'a\\\n' ",
    "declare -n r=x ",
    "source <<< '",
    "${x:'a[$(",
    "[ -v 'a[`",
    "find / -exec env ",
];

fn unit() -> impl Strategy<Value = &'static str> {
    prop_oneof![prop::sample::select(&UNITS[..]), prop::sample::select(&MORE[..])]
}

/// A head, a body that is repeated, and a tail.
fn recipe() -> impl Strategy<Value = [String; 3]> {
    let units = |most| prop::collection::vec(unit(), 0..most).prop_map(|units| units.concat());
    (units(4), units(5), units(4)).prop_map(|(head, body, tail)| [head, body, tail])
}

fn text([head, body, tail]: &[String; 3], size: usize) -> String {
    let room = size.saturating_sub(head.len() + tail.len());
    format!("{head}{}{tail}", body.repeat(room / body.len().max(1)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_takes_more_than_linear_steps(recipe in recipe()) {
        for size in [200, 2_000, 16_000] {
            let text = text(&recipe, size);
            prop_assume!(text.len() <= MAX_TEXT);
            let (taken, most) = (steps(&text), FREE + PER_BYTE * text.len());
            prop_assert!(taken <= most, "{taken} steps, over {most}, for {} bytes: {recipe:?}", text.len());
        }
    }
}

#[test]
fn every_unit_stays_linear_inside_every_other() {
    for outer in MORE.iter().chain(&UNITS) {
        for inner in MORE {
            let text = format!("{outer}{}", inner.repeat(1_500 / inner.len()));
            let most = FREE + PER_BYTE * text.len();
            assert!(steps(&text) <= most, "{outer:?} {inner:?}: {} steps, over {most}", steps(&text));
        }
    }
}

#[test]
fn a_command_that_runs_others_many_times_over_is_refused() {
    for unit in [
        "jobs -x jobs -x > x git -c alias.x='!",
        "strace find . -exec ",
        "git -c alias.x='!git -c alias.x='\\''",
    ] {
        let text = unit.repeat(4_000 / unit.len());
        assert!(steps(&text) <= FREE + PER_BYTE * text.len(), "{unit}: {}", steps(&text));
    }
}
