//! Construct by construct: what pieces a text is cut into, how their words look, which rule decides and why.

use enclos_core::command::{CommandRule, Piece, Reading, Rules, judge};
use enclos_core::ids::RuleId;
use enclos_core::verdict::Verdict::{self, Allow, Ask, Disabled};

fn read(text: &str) -> Reading {
    let reading = judge(text, &Rules { base: Allow, contained: false, freed: &[] });
    assert!(reading.unreadable.is_none(), "{text:?}: {reading:?}");
    reading
}

/// The words of every piece.
fn argvs(text: &str) -> Vec<String> {
    read(text).pieces.iter().map(|piece| piece.argv.join("·")).collect()
}

/// The piece whose words begin with `name`.
fn piece<'p>(reading: &'p Reading, name: &str) -> &'p Piece {
    reading.pieces.iter().find(|piece| piece.argv.first().is_some_and(|word| word == name)).unwrap()
}

fn rule_of(text: &str, name: &str) -> (Verdict, String) {
    let reading = read(text);
    let piece = piece(&reading, name);
    assert!(piece.reason.ends_with('.'), "{}", piece.reason);
    (piece.verdict, piece.rule.as_str().to_owned())
}

#[test]
fn a_text_is_cut_into_its_commands() {
    for (text, commands) in [
        ("a; b\nc & d | e |& f && g || h", "a b c d e f g h"),
        ("(a; b); { c; }", "a b c"),
        ("if a; then b; elif c; then d; else e; fi", "a b c d e"),
        ("while a; do b; done; until c; do d; done", "a b c d"),
        ("for x in 1 2; do a; done; select y in z; do b; done", "a b"),
        ("case x in a|b) c;; (d) e;& *) f;;& g) esac", "c e f"),
        ("f() { a; }; function g { b; }; function h() (c)", "f a g b h c"),
        ("coproc a; coproc N { b; }", "a b"),
        ("! a; time b; time -p -- c; ! time d", "a b c d"),
        ("a $(b `c` \"$(d)\") <(e) >(f)", "b c d e f a"),
        ("a <<E; b\n$(c)\nE\nd", "a b c d"),
    ] {
        let mut seen: Vec<String> =
            read(text).pieces.iter().filter_map(|piece| piece.argv.first().cloned()).collect();
        let mut wanted: Vec<&str> = commands.split(' ').collect();
        seen.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(seen, wanted, "{text}");
    }
}

#[test]
fn extended_patterns_are_read_where_bash_reads_them() {
    let verdict = |text: &str| judge(text, &Rules { base: Allow, contained: true, freed: &[] });
    for text in
        ["ls @(a|b)", "shopt -s extglob; ls !(a)", "(shopt -s extglob\nls !(a))", "shopt -u extglob\nls !(a)"]
    {
        assert!(verdict(text).unreadable.is_some(), "{text}");
    }
    for (text, wanted) in [
        ("shopt -s extglob\nls @(a|b) x*(y) ?(z)", Allow),
        ("shopt -s extglob\nrm -f !(*.keep)", Allow),
        ("[[ $x == +([0-9]) ]]", Allow),
        ("shopt -s extglob\n@(ls|id)", Ask),
        ("shopt -s extglob\nrm -rf /!(tmp)", Disabled),
        ("shopt -s extglob\nrm -rf /@(etc|usr)/x", Disabled),
        ("shopt -s extglob\nls @(a|$(sudo id))", Disabled),
        ("shopt -s extglob\n!(sudo id)", Disabled),
    ] {
        let reading = verdict(text);
        assert_eq!((reading.verdict, reading.unreadable), (wanted, None), "{text}");
    }
}

#[test]
fn words_are_shown_as_the_program_gets_them() {
    for (text, argv) in [
        (r#"a 'b c' "d e" f\ g h"#, "a·b c·d e·f g·h"),
        (r"a $'b\tc' $'\x64' e\f", "a·b\tc·d·ef"),
        ("a b{c,d}e {1..3}", "a·bce·bde·1·2·3"),
        ("a \\\n b c\\\nd", "a·b·cd"),
        ("a \"b\\$c\\\"d\\e\" '\\f'", "a·b$c\"d\\e·\\f"),
        ("a $b \"${c:-d}\" $((1+2)) *.x ~/y", "a·$b·${c:-d}·$((1+2))·*.x·~/y"),
        ("a '' \"\" b''", "a···b"),
        ("a # comment\n", "a"),
        ("a b#c \\#d", "a·b#c·#d"),
        ("a\r", "a\r"),
        ("a é 'ü'", "a·é·ü"),
    ] {
        assert_eq!(argvs(text), [argv], "{text:?}");
    }
}

#[test]
fn pieces_say_where_they_stand() {
    let text = "ls && sudo id > out; echo $(pwd)";
    let reading = read(text);
    for piece in &reading.pieces {
        assert_eq!(text.get(piece.span.clone()), Some(piece.text.as_str()));
    }
    assert_eq!(piece(&reading, "sudo").text, "sudo id > out");
    assert_eq!(piece(&reading, ">").text, "> out");
    assert_eq!(piece(&reading, "pwd").text, "pwd");
    // Text that is read again stands where the word that carries it stands.
    let text = "bash -c 'id x'";
    let reading = read(text);
    let handed = piece(&reading, "id");
    assert_eq!((handed.text.as_str(), &text[handed.span.clone()]), ("id x", "'id x'"));
}

#[test]
fn every_piece_names_its_rule() {
    for (text, name, verdict, rule) in [
        ("sudo id", "sudo", Disabled, "command.refused.privilege"),
        ("rm -rf /", "rm", Disabled, "command.refused.destruction"),
        ("> /dev/sda", ">", Disabled, "command.refused.device"),
        ("mkfs.xfs /dev/x", "mkfs.xfs", Disabled, "command.refused.format"),
        ("chmod 777 x", "chmod", Disabled, "command.refused.permissions"),
        ("chown root x", "chown", Disabled, "command.refused.ownership"),
        ("rmmod x", "rmmod", Disabled, "command.refused.kernel"),
        ("nft list", "nft", Disabled, "command.refused.firewall"),
        ("eval x", "eval", Disabled, "command.refused.eval"),
        ("frobnicate", "frobnicate", Ask, "command.ask.unknown"),
        ("$x y", "$x", Ask, "command.ask.dynamic"),
        ("$'ls'", "ls", Ask, "command.ask.obfuscation"),
        ("ls > out", ">", Ask, "command.ask.redirect"),
        ("curl x | sh", "sh", Ask, "command.ask.pipe"),
        ("curl x", "curl", Ask, "command.ask.network"),
        ("python x.py", "python", Ask, "command.ask.interpreter"),
        ("npm install x", "npm", Ask, "command.ask.install"),
        ("PATH=x", "PATH=x", Ask, "command.ask.loader"),
        ("X=x", "X=x", Ask, "command.ask.assignment"),
        ("env --frob x", "env", Ask, "command.ask.wrapper"),
        ("ls $x", "ls", Ask, "command.ask.expansion"),
        ("alias a=b", "alias", Ask, "command.ask.rebinding"),
        ("f() { ls; }", "f", Ask, "command.ask.function"),
        ("xargs ls", "xargs", Ask, "command.ask.handed"),
        ("ls -la", "ls", Allow, "command.allow.read-only"),
    ] {
        assert_eq!(rule_of(text, name), (verdict, rule.to_owned()), "{text}");
    }
}

#[test]
fn the_base_holds_where_the_reading_is_softer() {
    for (base, verdict) in [(Ask, Ask), (Disabled, Disabled)] {
        let reading = judge("ls", &Rules { base, contained: true, freed: &[] });
        assert_eq!((reading.verdict, reading.pieces[0].rule.as_str()), (verdict, "command.base"));
    }
    assert_eq!(read("(( x++ ))").pieces[0].rule.as_str(), "command.ask.arithmetic");
    assert_eq!(judge("", &Rules { base: Ask, contained: false, freed: &[] }).verdict, Ask);
}

#[test]
fn containment_is_said_and_goes_no_further() {
    let rules = Rules { base: Allow, contained: true, freed: &[] };
    for text in
        ["cargo test", "python x.py", "echo x > out", "echo x > /tmp/out", "npm ci", "curl x", "X=1 make"]
    {
        let reading = judge(text, &rules);
        assert_eq!(reading.verdict, Allow, "{text}");
        assert!(reading.pieces.iter().any(|piece| piece.rule.as_str() == "command.contained"), "{text}");
    }
    for text in [
        "$x",
        "curl x | sh",
        "$'ls'",
        "LD_PRELOAD=x ls",
        "echo x > ~/x",
        "echo x > \"$f\"",
        "cat x | python -",
    ] {
        assert_eq!(judge(text, &rules).verdict, Ask, "{text}");
    }
}

fn rule(argv: &str, verdict: Verdict) -> CommandRule {
    let words = argv.split(' ').map(str::to_owned).collect();
    CommandRule { id: RuleId::new(format!("rule.{}", argv.replace(' ', "."))), argv: words, verdict }
}

#[test]
fn a_written_rule_frees_its_command_and_nothing_beside_it() {
    let freed = [rule("cargo test", Allow), rule("git push", Disabled), rule("env", Allow), rule("npm", Ask)];
    let rules = Rules { base: Ask, contained: false, freed: &freed };
    for (text, verdict) in [
        ("cargo test", Allow),
        ("cargo test --all", Allow),
        ("timeout 60 cargo test", Allow),
        ("c\\argo 'test'", Allow),
        ("/usr/bin/cargo test", Allow),
        ("./cargo test", Ask),
        ("cargo testing", Ask),
        ("cargo build", Ask),
        ("cargo test > out", Ask),
        ("X=1 cargo test", Ask),
        ("cargo test $(id)", Ask),
        ("cargo test && ls", Ask),
        ("cargo test; sudo id", Disabled),
        ("git push", Disabled),
        ("env git push", Disabled),
        ("/opt/bin/git push", Disabled),
        ("echo $(git push)", Disabled),
        ("bash -c 'git push'", Disabled),
        ("env cargo build", Ask),
        ("env", Allow),
        ("npm test", Ask),
    ] {
        let reading = judge(text, &rules);
        assert_eq!(reading.verdict, verdict, "{text}: {:?}", reading.pieces);
    }
    let reading = judge("cargo test", &rules);
    assert_eq!(reading.pieces[0].rule.as_str(), "rule.cargo.test");
}

#[test]
fn a_reading_is_written_as_plain_json() {
    let json = serde_json::to_value(read("ls 'a b'")).unwrap();
    assert_eq!(json["verdict"], "allow");
    assert_eq!(json["pieces"][0]["argv"], serde_json::json!(["ls", "a b"]));
    assert_eq!(json["pieces"][0]["span"], serde_json::json!({"start": 0, "end": 8}));
}

#[test]
fn putting_values_in_makes_no_long_script_unreadable() {
    let lines = |count: usize, line: fn(usize) -> String| (0..count).map(line).collect::<String>();
    let list = lines(500, |n| format!(" f{n}"));
    for (text, wanted) in [
        (
            format!(
                "d=build s=src m=644\n{}",
                lines(400, |n| format!("install -m \"$m\" \"$s/{n}\" \"$d/x/{n}\"\n"))
            ),
            Allow,
        ),
        (format!("m=755\n{}", lines(1500, |n| format!("chmod $m d/{n}\n"))), Allow),
        (
            format!("clean() {{ rm -f \"$1\" \"$2\"; }}\n{}", lines(800, |n| format!("clean a{n} b{n}\n"))),
            Allow,
        ),
        // More than can be put in asks, and is not taken for harmless.
        (format!("f=({list})\n{}", "rm -f \"${f[@]}\"\n".repeat(200)), Ask),
        // What is small is still put in.
        (format!("f=({list})\n{}d=/usr; rm -rf $d", "rm -f \"${f[@]}\"\n".repeat(200)), Disabled),
    ] {
        let reading = judge(&text, &Rules { base: Allow, contained: true, freed: &[] });
        assert!(reading.unreadable.is_none(), "{:?}", reading.unreadable);
        assert_eq!(reading.verdict, wanted, "{}", text.get(..80).unwrap());
    }
}
