//! Rules that could never do what their author means, and lower scopes that would loosen: refused, with the way out.

use enclos_core::args::{Schema, parse, validate};
use enclos_core::policy::{Caller, Layer, Policy, Request, Role, Scope, Surface, Tool};
use enclos_core::verdict::Verdict;
use serde_json::json;

fn refusal(layers: &[(Scope, &str)]) -> String {
    let layers: Vec<Layer<'_>> = layers
        .iter()
        .map(|(scope, text)| Layer { scope: *scope, source: format!("{scope}.toml"), text })
        .collect();
    Policy::load(&layers).map_or_else(|error| error.to_string(), |_| "taken".to_owned())
}

fn of_rule(rule: &str) -> String {
    refusal(&[(Scope::Project, &format!("name = \"p\"\n[[rule]]\n{rule}\n"))])
}

#[test]
fn a_rule_that_could_never_match_is_refused_with_the_way_out() {
    for (rule, expected) in [
        ("command = [\"git push\"]\nverdict = \"disabled\"", "write `[\"git\", \"push\"]`"),
        ("command = [\"git\", \"*\"]\nverdict = \"disabled\"", "leave the `*` out"),
        ("command = []\nverdict = \"disabled\"", "empty `command`"),
        ("tool = \"write\"\nwhen = []\nverdict = \"disabled\"", "empty `when`"),
        ("tool = \"write\"\nwhen = [{ pointer = \"/path\", in = [] }]\nverdict = \"ask\"", "empty `in`"),
        (
            "tool = \"write\"\nwhen = [{ pointer = \"/pth\", prefix = \"src/\" }]\nverdict = \"disabled\"",
            "`write` has no argument `pth`: expected one of `content`, `path`; did you mean `path`?",
        ),
        (
            "tool = \"write\"\nwhen = [{ pointer = \"/path\", equals = 5 }]\nverdict = \"disabled\"",
            "`path` of `write` is text",
        ),
        (
            "tool = \"read\"\nwhen = [{ pointer = \"/offset\", prefix = \"1\" }]\nverdict = \"disabled\"",
            "`offset` of `read` is a whole number",
        ),
        (
            "tool = \"write\"\nwhen = [{ pointer = \"/path\", prefix = \"/workspace/src/\" }]\nverdict = \"disabled\"",
            "write `src/`",
        ),
        (
            "category = \"write\"\nwhen = [{ pointer = \"/path\", prefix = \"./src/\" }]\nverdict = \"disabled\"",
            "write `src/`",
        ),
        (
            "tool = \"*\"\nwhen = [{ pointer = \"/path\", equals = \"./src/a\" }]\nverdict = \"disabled\"",
            "write `src/a`",
        ),
        (
            "tool = \"edit\"\nwhen = [{ pointer = \"/path\", glob = \"/workspace/**/*.yml\" }]\nverdict = \"disabled\"",
            "write `**/*.yml`",
        ),
        (
            "tool = \"edit\"\nwhen = [{ pointer = \"/path\", regex = \"a(?=b)\" }]\nverdict = \"disabled\"",
            "look-around",
        ),
        ("tool = \"write\"\nverdict = \"ask\"\nnot_match = [{ tool = \"wirte\" }]", "`wirte` is unknown"),
        ("tool = \"write\"\nverdict = \"ask\"\nmatch = [{ args = { pth = \"a\" } }]", "did you mean `path`?"),
        (
            "tool = \"write\"\nverdict = \"ask\"\nwhen = { pointer = \"/path\" }",
            "`when`: found a table, expected an array",
        ),
        (
            "tool = \"write\"\nverdict = \"ask\"\napprove = { quorum = 2 }\nshadow = \"no\"",
            "`shadow`: found string \"no\", expected `true` or `false`",
        ),
    ] {
        let told = of_rule(rule);
        assert!(told.contains(expected), "{rule}\n{told}");
        assert!(told.starts_with("project.toml:"), "{told}");
    }
}

#[test]
fn what_can_match_is_taken() {
    for rule in [
        "command = [\"git\", \"commit\", \"-m\", \"some words\"]\nverdict = \"ask\"",
        "tool = [\"read\", \"bash\"]\nwhen = [{ pointer = \"/path\", prefix = \"src/\" }]\nverdict = \"ask\"",
        "tool = \"write\"\nwhen = [{ pointer = \"/path\", prefix = \"/etc/\" }]\nverdict = \"disabled\"",
        "tool = \"write\"\nwhen = [{ pointer = \"/path\", glob = \"**/*.yml\" }]\nverdict = \"disabled\"",
        "tool = \"list\"\nwhen = [{ pointer = \"/path\", equals = \".\" }]\nverdict = \"disabled\"",
        "tool = \"files/put\"\nwhen = [{ pointer = \"/path\", prefix = \"/workspace/src/\" }]\nverdict = \"disabled\"",
        "server = \"files\"\nwhen = [{ pointer = \"/pth\", equals = 5 }]\nverdict = \"disabled\"",
        "tool = \"delete\"\nwhen = [{ pointer = \"/recursive\", equals = true }]\nverdict = \"disabled\"",
    ] {
        assert_eq!(of_rule(rule), "taken", "{rule}");
    }
}

#[test]
fn a_saved_setting_that_gives_more_room_is_refused_with_what_it_collides_with() {
    let above = "name = \"i\"\ncontinue_after_rejection = false\n[commands]\ncontained = \"ask\"\n[execution]\nsession_max_actions = 10\n\
                 [approvals]\nexpiry_minutes = 5\non_ask = \"stop\"\n[caches]\nmount = [\"cargo\"]\n";
    for (setting, expected) in [
        ("continue_after_rejection = true", "`continue_after_rejection` of the group is `true`"),
        ("commands.contained = \"allow\"", "`commands.contained` of the group is `\"allow\"`"),
        ("execution.session_max_actions = 1000", "the instance (instance.toml) says `10`"),
        ("approvals.expiry_minutes = 500", "says `5`"),
        ("approvals.on_ask = \"park\"", "says `\"stop\"`"),
        ("caches.mount = [\"cargo\", \"npm\"]", "`caches.mount`"),
    ] {
        let below = format!("name = \"g\"\n{setting}\n");
        let told = refusal(&[(Scope::Instance, above), (Scope::Group, &below)]);
        assert!(told.contains(expected) && told.contains("only tighten"), "{setting}: {told}");
    }
    let below = "name = \"g\"\n[execution]\nsession_max_actions = 9\nsession_max_minutes = 5\n[caches]\nmount = \"none\"\n";
    assert_eq!(refusal(&[(Scope::Instance, above), (Scope::Group, below)]), "taken");
    let chosen = "name = \"s\"\n[execution]\nsession_max_actions = 1000\n";
    assert_eq!(
        refusal(&[(Scope::Instance, above), (Scope::Session, chosen)]),
        "taken",
        "of a session the smaller holds"
    );
}

#[test]
fn a_rule_that_asks_fewer_or_on_the_same_arguments_less_is_refused() {
    let above = "name = \"i\"\n[[rule]]\nid = \"i.src\"\ntool = \"write\"\nwhen = [{ pointer = \"/path\", prefix = \"src/\" }]\nverdict = \"ask\"\n\
                 approve = { role = \"maintainer\", quorum = 2 }\n[[rule]]\nid = \"i.all\"\ntool = \"*\"\nverdict = \"allow\"\n";
    let rule = |verdict: &str, more: &str| {
        format!(
            "name = \"p\"\n[[rule]]\nid = \"p.src\"\ntool = \"write\"\nwhen = [{{ pointer = \"/path\", prefix = \"src/\" }}]\nverdict = \"{verdict}\"\n{more}\n"
        )
    };
    for (below, expected) in [
        (rule("allow", ""), "`i.src` of the instance (instance.toml) says `ask`"),
        (rule("ask", "approve = { quorum = 1, role = \"owner\" }"), "a quorum of 1"),
        (rule("ask", "approve = { quorum = 2, role = \"developer\" }"), "the role `developer`"),
        (
            rule("ask", "approve = { quorum = 3, role = \"owner\", remember = true }"),
            "answers that are remembered",
        ),
    ] {
        let told = refusal(&[(Scope::Instance, above), (Scope::Project, &below)]);
        assert!(told.contains(expected) && told.contains("p.src"), "{below}\n{told}");
    }
    for below in
        [rule("ask", ""), rule("ask", "approve = { quorum = 3, role = \"owner\" }"), rule("disabled", "")]
    {
        assert_eq!(refusal(&[(Scope::Instance, above), (Scope::Project, &below)]), "taken", "{below}");
    }
    let other = "name = \"p\"\n[[rule]]\ntool = \"write\"\nwhen = [{ pointer = \"/path\", prefix = \"docs/\" }]\nverdict = \"allow\"\n";
    assert_eq!(refusal(&[(Scope::Instance, above), (Scope::Project, other)]), "taken", "other arguments");
}

#[test]
fn only_an_administrator_switches_a_repositorys_policy_off() {
    let instance = "name = \"i\"\n[[rule]]\ntool = \"bash\"\nverdict = \"allow\"\n";
    let tight = "[[rule]]\ntool = \"bash\"\nverdict = \"disabled\"\n";
    let off = "name = \"s\"\n[repository]\npolicy = false\n";
    for scope in [Scope::Group, Scope::Project, Scope::Session] {
        let layers = [(Scope::Instance, instance), (Scope::Repository, tight), (scope, off)];
        let told = refusal(&layers);
        assert!(told.contains("only the instance's policy may"), "{told}");
        let layers: Vec<Layer<'_>> =
            layers.iter().map(|(scope, text)| Layer { scope: *scope, source: String::new(), text }).collect();
        let standing = Policy::load_standing(&layers).unwrap();
        assert!(standing.layers().iter().any(|layer| layer.scope == Scope::Repository), "{scope}: it stays");
    }
    assert_eq!(
        refusal(&[
            (Scope::Instance, &format!("{instance}[repository]\npolicy = false\n")),
            (Scope::Repository, tight)
        ]),
        "taken"
    );
}

/// Whether a project's rule may stand below an instance's policy.
fn below(above: &str, below: &str) -> Result<(), String> {
    let (above, below) =
        (format!("name = \"above\"\n{above}"), format!("name = \"below\"\n[[rule]]\n{below}"));
    let layer = |scope, source: &str, text| Layer { scope, source: source.to_owned(), text };
    let layers =
        [layer(Scope::Instance, "above.toml", &*above), layer(Scope::Project, "below.toml", &*below)];
    Policy::load(&layers).map(|_| ()).map_err(|error| error.to_string())
}

fn when(tool: &str, when: &str, verdict: &str) -> String {
    format!("tool = \"{tool}\"\nwhen = [{{ pointer = \"/path\", {when} }}]\nverdict = \"{verdict}\"\n")
}

#[test]
fn a_rule_on_arguments_that_a_higher_one_on_them_is_stricter_than_is_refused() {
    let prefix = "prefix = \"secret/\"";
    for (higher, lower) in [
        (prefix, prefix),
        (prefix, "prefix = \"secret/keys/\""),
        (prefix, "equals = \"secret/a\""),
        (prefix, "in = [\"secret/a\", \"secret/b\"]"),
        (prefix, "glob = \"secret/**\""),
        (prefix, "glob = \"secret/*.pem\""),
        (prefix, "regex = \"secret/(a|b).*\""),
        ("glob = \"secret/**\"", "glob = \"secret/**\""),
        ("glob = \"secret/**\"", prefix),
        ("glob = \"secret/**\"", "glob = \"secret/*/x\""),
        ("glob = \"*.pem\"", "equals = \"a.pem\""),
        ("glob = \"*.pem\"", "in = [\"a.pem\", \"b.pem\"]"),
        ("regex = \"secret/.*\"", prefix),
        ("regex = \"secret/.*\"", "regex = \"secret/x.*\""),
        ("regex = \".*key.*\"", "equals = \"a/key\""),
        ("regex = \".*key.*\"", "regex = \"(my|our)key\""),
        ("in = [\"a\", \"b\"]", "equals = \"b\""),
    ] {
        for (stricter, verdict) in [("disabled", "allow"), ("disabled", "ask"), ("ask", "allow")] {
            let above = format!("[[rule]]\nid = \"above.rule\"\n{}", when("write", higher, stricter));
            let error = below(&above, &when("write", lower, verdict)).unwrap_err();
            assert!(error.contains("above.rule") && error.contains("can only tighten"), "{lower}: {error}");
            // The same where the higher rule speaks of more: the class, everything, and whoever asks.
            let all = above.replace("tool = \"write\"", "category = \"write\"");
            assert!(below(&all, &when("write", lower, verdict)).is_err(), "{higher} {lower}");
            let own = format!("role = \"developer\"\nsurface = \"web\"\n{}", when("write", lower, verdict));
            assert!(below(&above, &own).is_err(), "{higher} {lower}");
        }
        let above = format!("[[rule]]\n{}", when("write", higher, "disabled"));
        below(&above, &when("write", lower, "disabled")).unwrap();
    }
    let (one, other) = ("equals = \"a\"", "equals = \"b\"");
    let both =
        format!("[[rule]]\n{}[[rule]]\n{}", when("write", one, "disabled"), when("write", other, "disabled"));
    assert!(below(&both, &when("write", "in = [\"a\", \"b\"]", "allow")).is_err());
    below(&both, &when("write", "in = [\"a\", \"c\"]", "allow")).unwrap();
}

#[test]
fn a_rule_that_some_call_can_obey_is_taken() {
    for (higher, lower) in [
        ("prefix = \"secret/\"", "prefix = \"src/\""),
        ("prefix = \"secret/\"", "prefix = \"sec\""),
        ("prefix = \"secret/\"", "glob = \"**/*.rs\""),
        ("prefix = \"secret/\"", "regex = \".*\""),
        ("glob = \"secret/*\"", "glob = \"secret/**\""),
        ("equals = \"a\"", "prefix = \"a\""),
        ("regex = \"secret/[a-z]+\"", "prefix = \"secret/\""),
        ("glob = \"*.pem\"", "in = [\"a.pem\", \"a.rs\"]"),
    ] {
        let above = format!("[[rule]]\n{}", when("write", higher, "disabled"));
        below(&above, &when("write", lower, "allow")).unwrap();
    }
    // Another tool, another role, another argument.
    let above = format!("[[rule]]\nrole = \"reader\"\n{}", when("write", "prefix = \"a\"", "disabled"));
    below(&above, &when("write", "prefix = \"a\"", "allow")).unwrap();
    let above = format!("[[rule]]\n{}", when("delete", "prefix = \"a\"", "disabled"));
    below(&above, &when("write", "prefix = \"a\"", "allow")).unwrap();
}

#[test]
fn a_rule_on_what_nobody_sees_or_no_call_has_is_refused() {
    for (rule, why) in [
        ("command = [\"car\u{200b}go\"]\nverdict = \"disabled\"", "nobody sees"),
        ("command = [\"git\", \"pu\u{ad}sh\"]\nverdict = \"disabled\"", "nobody sees"),
        (
            "tool = \"write\"\nwhen = [{ pointer = \"/path~2\", equals = \"x\" }]\nverdict = \"disabled\"",
            "written `~0`",
        ),
        (
            "tool = \"x/y\"\nwhen = [{ pointer = \"/a~\", equals = \"x\" }]\nverdict = \"disabled\"",
            "written `~0`",
        ),
        (
            "tool = \"write\"\nwhen = [{ pointer = \"/path/0\", equals = \"x\" }]\nverdict = \"disabled\"",
            "nothing inside",
        ),
    ] {
        let told = of_rule(rule);
        assert!(told.contains(why), "{rule}: {told}");
    }
    let inside = "tool = \"x/y\"\nwhen = [{ pointer = \"/a~1b/0\", equals = \"x\" }]\nverdict = \"disabled\"";
    assert_eq!(of_rule(inside), "taken");
}

#[test]
fn a_rule_is_refused_only_where_the_higher_one_holds_for_each_of_its_calls() {
    let conditions = [
        "equals = \"a\"",
        "equals = \"a/b.rs\"",
        "in = [\"a\", \"b\"]",
        "in = [\"a/b\", \"a/c\"]",
        "prefix = \"a\"",
        "prefix = \"a/\"",
        "prefix = \"a/b\"",
        "glob = \"*\"",
        "glob = \"**\"",
        "glob = \"a/*\"",
        "glob = \"a/**\"",
        "glob = \"**/*.rs\"",
        "glob = \"{a,b}\"",
        "glob = \"a?\"",
        "regex = \".*\"",
        "regex = \"a.*\"",
        "regex = \"a/[^b]*\"",
        "regex = \"a|b\"",
        "regex = \"(a|b)/.*\"",
        "regex = \"(?i)A/.*\"",
        "regex = \"a/.+\"",
        "regex = \"a(/b)?\"",
    ];
    let letters = ["a", "b", "c", "/", ".rs", "A"];
    let pairs = letters.iter().flat_map(|one| letters.map(|two| format!("{one}{two}")));
    let threes = pairs.clone().flat_map(|pair| letters.map(|letter| format!("{pair}{letter}")));
    let all: Vec<String> = letters.iter().map(ToString::to_string).chain(pairs).chain(threes).collect();
    // What a path leads to is what is compared, so a path that is written otherwise is none of its own.
    let paths: Vec<&String> = all
        .iter()
        .filter(|path| !path.starts_with('/') && !path.ends_with('/') && !path.contains("//"))
        .collect();
    let met = |condition: &str| -> Vec<bool> {
        let text = format!("name = \"p\"\n[[rule]]\n{}", when("write", condition, "disabled"));
        let layer = Layer { scope: Scope::Instance, source: "p.toml".to_owned(), text: &text };
        let policy = Policy::load(&[layer]).unwrap();
        let schema =
            Schema::new(&json!({"type": "object", "properties": {"path": {"type": "string"}}})).unwrap();
        let tool = Tool::named("write");
        let caller = Caller { tool: &tool, role: Role::Developer, surface: Surface::Terminal };
        let judged = |path: &&String| {
            let args = validate(parse(&json!({ "path": path }).to_string()).unwrap(), &schema).unwrap();
            policy.judge(&Request { caller, args: &args }).verdict == Verdict::Disabled
        };
        paths.iter().map(judged).collect()
    };
    let table: Vec<Vec<bool>> = conditions.iter().map(|condition| met(condition)).collect();
    let mut refused = 0;
    for (higher, above) in conditions.iter().zip(&table) {
        for (lower, own) in conditions.iter().zip(&table) {
            let policy = format!("[[rule]]\n{}", when("write", higher, "disabled"));
            if below(&policy, &when("write", lower, "allow")).is_ok() {
                assert_ne!(higher, lower, "the same conditions");
                continue;
            }
            refused += 1;
            let escapes = own.iter().zip(above).zip(&paths).find(|((own, above), _)| **own && !**above);
            assert_eq!(escapes.map(|(_, path)| path), None, "{lower} below {higher}");
        }
    }
    assert!(refused > 70, "{refused}");
}
