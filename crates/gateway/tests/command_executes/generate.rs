//! Commands made up from a seed: a program in some spelling, with some arguments, in some place of a bash text.
//!
//! Everything here is meant to run: the point is to see what bash then executes.

/// Programs that a stub stands for; the first five only read.
pub(crate) const PROGRAMS: [&str; 12] = [
    "ls",
    "cat",
    "wc",
    "grep",
    "head",
    "frobnicate",
    "make",
    "python3",
    "sudo",
    "mkfs.ext4",
    "insmod",
    "iptables",
];
/// Those of them that never run, whatever anyone answers.
pub(crate) const REFUSED: [&str; 4] = ["sudo", "mkfs.ext4", "insmod", "iptables"];
/// Programs whose stub hands on to the program itself, which then runs others.
pub(crate) const WRAPPERS: [&str; 9] =
    ["env", "nice", "nohup", "timeout", "stdbuf", "setsid", "xargs", "find", "bash"];

/// Numbers from a seed, the same each time.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % sides
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len())]
    }
}

/// A text of one or two commands.
pub(crate) fn text(dice: &mut Dice) -> String {
    let first = placed(dice, 2);
    match dice.roll(9) {
        0 => format!("{first} && {}", placed(dice, 1)),
        1 => format!("{first} | {}", placed(dice, 1)),
        2 => format!("{first}; {}", placed(dice, 1)),
        3 => format!("{first}\n{}", placed(dice, 1)),
        4 => format!("{first} || {}", placed(dice, 1)),
        5 => format!("{first} & {}; wait", placed(dice, 1)),
        _ => first,
    }
}

/// A command somewhere in a bash text.
fn placed(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 || dice.roll(3) == 0 {
        return wrapped(dice);
    }
    let a = placed(dice, depth - 1);
    match dice.roll(32) {
        0 => format!("( {a} )"),
        1 => format!("{{ {a}; }}"),
        2 => format!("if {a}; then {}; fi", wrapped(dice)),
        3 => format!("for i in a b; do {a}; done"),
        4 => format!("for ((i=0;i<2;i++)); do {a}; done"),
        5 => format!("while {a}; do break; done"),
        6 => format!("case x in y) :;; x) {a};; esac"),
        7 => format!("ls $({a})"),
        8 => format!("ls \"$({a})\""),
        9 if !a.contains(['`', '\\']) => format!("ls `{a}`"),
        10 => format!("cat <<E\n$({a})\nE"),
        11 => format!("cat <<< \"$({a})\""),
        12 => format!("f() {{ {a}; }}; f"),
        13 => format!("function g {{ {a}; }}; g"),
        14 => format!("[[ -n $({a}) ]]"),
        15 => format!("(( 1 + $({a}) + 0 ))"),
        16 => format!("a[$({a})0]=1"),
        17 => format!("ls ${{nothing:-$({a})}}"),
        18 if !a.contains('\'') => format!("trap '{a}' EXIT"),
        19 => format!("! {a}"),
        20 => format!("time {a}"),
        21 => format!("cat <( {a} )"),
        22 => format!("x=$({a})"),
        23 => format!("X=1 {a}"),
        24 => format!("until {a}; do break; done"),
        25 => format!("ls $(( $({a}) 0 ))"),
        26 => format!("echo \"${{x[$({a})0]}}\""),
        27 => format!("ls > >( {a} )"),
        28 => format!("ls 2>/dev/null; {a} 2>&1"),
        29 => format!("cat <<-E\n\t${{y:=$({a})}}\n\tE"),
        30 => format!("case $({a}) in *) ;; esac"),
        _ => format!("{a} # and no more"),
    }
}

/// A simple command, perhaps behind wrappers.
fn wrapped(dice: &mut Dice) -> String {
    let simple = format!("{}{}", name(dice), arguments(dice));
    match dice.roll(26) {
        0 => format!("env {simple}"),
        1 => format!("env A=1 {simple}"),
        2 => format!("nice -n 5 {simple}"),
        3 => format!("nohup {simple}"),
        4 => format!("timeout 5 {simple}"),
        5 => format!("stdbuf -o0 {simple}"),
        6 => format!("setsid {simple}"),
        7 => format!("echo z | xargs {simple}"),
        8 => format!("find . -maxdepth 0 -exec {simple} \\;"),
        9 if !simple.contains('\'') => format!("bash -c '{simple}'"),
        10 => format!("command {simple}"),
        11 => format!("exec {simple}"),
        12 => format!("eval {simple}"),
        13 => format!("env -u B nice {simple}"),
        14 => format!("timeout -s KILL 5 env -- {simple}"),
        15 => format!("echo z | xargs -n1 -I% {simple} %"),
        _ => simple,
    }
}

/// A program's name in one of its spellings.
fn name(dice: &mut Dice) -> String {
    let name = if dice.roll(2) == 0 { dice.pick(&PROGRAMS[..5]) } else { dice.pick(&PROGRAMS) };
    let (head, tail) = name.split_at(1);
    match dice.roll(16) {
        0 => format!("'{head}'{tail}"),
        1 => format!("\"{head}\"{tail}"),
        2 => format!("\\{name}"),
        3 => format!("{head}\"\"{tail}"),
        4 => format!("$'{name}'"),
        5 => format!("$'\\x{:02x}{tail}'", head.as_bytes()[0]),
        6 => format!("{head}\\\n{tail}"),
        7 => format!("{{{name},first}}"),
        8 => format!("n={name}; $n"),
        9 => format!("$(echo {name})"),
        10 => format!("${{nothing:-{name}}}"),
        11 => format!("$\"{name}\""),
        _ => name.to_owned(),
    }
}

fn arguments(dice: &mut Dice) -> String {
    const SOME: [&str; 16] = [
        "-l",
        "f1.txt",
        "'a b'",
        "\"c  d\"",
        "e\\ f",
        "{g,h}",
        "$'i\\tj'",
        "f*.txt",
        "~",
        "\"$HOME\"",
        "--",
        "$((1+1))",
        "x=y",
        "''",
        "{1..3}",
        "[ab]",
    ];
    let words: Vec<&str> = (0..dice.roll(4)).map(|_| dice.pick(&SOME)).collect();
    if words.is_empty() { String::new() } else { format!(" {}", words.join(" ")) }
}

/// Texts in which a refused name is only data.
pub(crate) fn inert(dice: &mut Dice) -> String {
    let name = dice.pick(&REFUSED);
    match dice.roll(10) {
        0 => format!("echo '{name} x'"),
        1 => format!("echo \"{name} x\""),
        2 => format!("cat <<'E'\n{name} $({name})\nE"),
        3 => format!("ls # {name} x"),
        4 => format!("grep {name} f1.txt"),
        5 => format!("grep '$({name})' f1.txt"),
        6 => format!("echo '`{name}`'"),
        7 => format!("cat <<\\E\n`{name}`\nE"),
        8 => format!("ls {name}"),
        _ => format!("wc -l \"{name}\" 2>&1"),
    }
}
