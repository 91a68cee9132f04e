//! The published schema and the page of the reference, held against the loader in both directions.

use enclos_core::policy::reference::{Kind, page, schema};
use enclos_core::policy::{Layer, Policy, Preset, Scope, read_cases};
use serde_json::Value;

fn validator(kind: Kind) -> jsonschema::Validator {
    jsonschema::validator_for(&schema(kind)).unwrap()
}

fn instance(text: &str) -> Value {
    let table: toml::Table = toml::from_str(text).unwrap();
    serde_json::to_value(table).unwrap()
}

fn loads(kind: Kind, text: &str) -> Result<(), String> {
    let scope = if kind == Kind::Repository { Scope::Repository } else { Scope::Instance };
    match kind {
        Kind::Policy | Kind::Repository => {
            let layer = Layer { scope, source: "p".to_owned(), text };
            Policy::load(&[layer]).map(drop).map_err(|error| error.to_string())
        }
        Kind::Cases => read_cases("p", text).map(drop).map_err(|error| error.to_string()),
    }
}

/// Every table of a schema, with the words that begin a text in which a line stands in that table, and what must
/// stand beside it.
const TABLES: [(Kind, &str, &str, &str); 16] = [
    (Kind::Policy, "", "", "name = \"p\"\n"),
    (Kind::Policy, "/rule", "[[rule]]\n", "name = \"p\"\n"),
    (
        Kind::Policy,
        "/rule/when",
        "[[rule]]\ntool = \"files/get\"\nverdict = \"ask\"\n[[rule.when]]\npointer = \"/a\"\n",
        "name = \"p\"\n",
    ),
    (
        Kind::Policy,
        "/rule/approve",
        "[[rule]]\ntool = \"read\"\nverdict = \"ask\"\n[rule.approve]\n",
        "name = \"p\"\n",
    ),
    (
        Kind::Policy,
        "/rule/match",
        "[[rule]]\ntool = \"read\"\nverdict = \"ask\"\n[[rule.match]]\n",
        "name = \"p\"\n",
    ),
    (
        Kind::Policy,
        "/rule/not_match",
        "[[rule]]\ntool = \"read\"\nverdict = \"ask\"\n[[rule.not_match]]\n",
        "name = \"p\"\n",
    ),
    (Kind::Policy, "/commands", "[commands]\n", "name = \"p\"\n"),
    (Kind::Policy, "/execution", "[execution]\n", "name = \"p\"\n"),
    (Kind::Policy, "/approvals", "[approvals]\n", "name = \"p\"\n"),
    (Kind::Policy, "/repository", "[repository]\n", "name = \"p\"\n"),
    (Kind::Policy, "/toolchains", "[toolchains]\n", "name = \"p\"\n"),
    (Kind::Policy, "/caches", "[caches]\n", "name = \"p\"\n"),
    (Kind::Repository, "", "", ""),
    (Kind::Repository, "/rule", "[[rule]]\n", ""),
    (Kind::Repository, "/execution", "[execution]\n", ""),
    (Kind::Cases, "/case", "[[case]]\n", ""),
];

/// The table of a schema at a path of keys.
fn table<'s>(root: &'s Value, path: &str) -> &'s Value {
    path.split('/').filter(|name| !name.is_empty()).fold(root, |at, name| {
        let key = &at["properties"][name];
        let item = key.get("items").unwrap_or(key);
        item.get("anyOf")
            .and_then(|forms| forms.as_array()?.iter().find(|form| form["type"] == "object"))
            .unwrap_or(item)
    })
}

/// The fields that the loader takes in a table: it names them all when it is given one that it does not know.
fn taken(kind: Kind, begin: &str, beside: &str) -> Option<Vec<String>> {
    let error = loads(kind, &format!("{beside}{begin}no_such_field = 1\n")).unwrap_err();
    let (_, known) = error.split_once("expected ")?;
    let known = known.split("; did you mean").next().unwrap();
    Some(known.split('`').skip(1).step_by(2).map(str::to_owned).collect())
}

#[test]
fn the_schema_has_every_field_that_the_loader_takes_and_no_other() {
    for (kind, path, begin, beside) in TABLES {
        let root = schema(kind);
        let of_schema = table(&root, path)["properties"].as_object().unwrap();
        let mut wanted: Vec<String> = of_schema.keys().cloned().collect();
        let mut found = match path {
            // An example may be a text as well, so that its error names no field: each is tried.
            "/rule/match" | "/rule/not_match" => wanted.clone(),
            _ => taken(kind, begin, beside).unwrap_or_else(|| panic!("{kind:?} {path}")),
        };
        if (kind, path) == (Kind::Repository, "/execution") {
            found.retain(|field| !["place", "output_keep", "backend"].contains(&field.as_str()));
        }
        wanted.sort();
        found.sort();
        assert_eq!(found, wanted, "{kind:?} {path}");
    }
}

/// Lines that are right and lines that are wrong, by the keys of each table.
const LINES: [(&str, &[&str], &[&str]); 29] = [
    ("id", &["'a.b-c_1'"], &["1"]),
    ("tool", &["'read'", "['read', 's/*']"], &["[]", "1", "[1]"]),
    ("category", &["'bash'", "['read', 'egress']"], &["[]", "'reads'", "['x']", "1"]),
    ("server", &["'s'", "['*']"], &["[]", "1"]),
    ("role", &["'owner'", "['reader', 'owner']"], &["[]", "'admin'"]),
    ("surface", &["'mcp'", "['web', 'ide']"], &["[]", "'tty'"]),
    (
        "verdict",
        &[
            "'allow'",
            "'ask'",
            "'disabled'",
            "'exclude'",
            "'allowedWithPermission'",
            "'allowedWithoutPermission'",
        ],
        &["'deny'", "true"],
    ),
    ("shadow", &["true"], &["'yes'", "1"]),
    ("reason", &["'because'"], &["1"]),
    ("command", &["['cargo', 'test']"], &["'cargo test'", "[1]", "['']"]),
    ("contained", &["'allow'", "'ask'"], &["'disabled'", "true"]),
    ("place", &["'workstation'", "'server'"], &["'cloud'"]),
    ("output_keep", &["'head'", "'head_and_tail'"], &["'tail'", "1"]),
    ("isolation", &["'standard'", "'hard'"], &["'soft'", "1"]),
    ("session_max_actions", &["0", "1"], &["-1", "1.5", "'1'"]),
    ("sandbox_disk_bytes", &["10737418240"], &["-1"]),
    ("on_ask", &["'park'", "'stop'", "'deny'"], &["'allow'"]),
    ("expiry_minutes", &["5"], &["-5", "'5'"]),
    ("policy", &["false"], &["'no'"]),
    ("instructions", &["true"], &["1"]),
    ("mount", &["'all'", "'none'", "[]", "['cargo']"], &["'some'", "[1]", "true"]),
    ("quorum", &["1", "16"], &["0", "17", "-1"]),
    ("remember", &["true"], &["1"]),
    ("person", &["true"], &["'x'"]),
    ("version", &["3"], &["-3", "'3'"]),
    ("continue_after_rejection", &["true"], &["'x'"]),
    ("name", &["'p'"], &["1", "''", "'P Q'"]),
    ("args", &["{ path = 'a' }"], &["'a'", "1"]),
    ("equals", &["1", "'a'", "[1]", "{ a = 1 }", "1.5", "true"], &[]),
];

/// A whole text with one line of a key in each table that has it.
fn texts(key: &str, value: &str) -> Vec<(Kind, String)> {
    let mut out = Vec::new();
    for (kind, path, begin, beside) in TABLES {
        if table(&schema(kind), path)["properties"].get(key).is_none() {
            continue;
        }
        let rule = match (path, key) {
            ("/rule", "verdict") => "tool = \"bash\"\n",
            ("/rule", "tool") | ("/case", "tool" | "command") => "verdict = \"ask\"\n",
            ("/rule", "shadow" | "id" | "reason" | "role" | "surface" | "category" | "server") => {
                "tool = \"*\"\nverdict = \"ask\"\n"
            }
            ("/rule", _) => "tool = \"bash\"\nverdict = \"ask\"\n",
            ("/case", "verdict") => "tool = \"read\"\n",
            ("/case", _) => "tool = \"read\"\nverdict = \"ask\"\n",
            _ => "",
        };
        // A list of tools, a pattern and a list of words are of policies only.
        let of_cases = kind == Kind::Cases && matches!(key, "tool" | "command" | "rule");
        let one_role = path == "/rule/approve" && key == "role";
        let examples = path.ends_with("match");
        if of_cases || one_role || examples && key == "tool" {
            continue;
        }
        let beside = if path.is_empty() && key == "name" { "" } else { beside };
        out.push((kind, format!("{beside}{begin}{rule}{key} = {value}\n")));
    }
    out
}

#[test]
fn schema_and_loader_agree_on_right_and_wrong_values() {
    for (key, right, wrong) in LINES {
        for (value, wanted) in right.iter().map(|one| (one, true)).chain(wrong.iter().map(|one| (one, false)))
        {
            for (kind, text) in texts(key, value) {
                let tightens = kind == Kind::Repository && key == "verdict";
                let wanted =
                    wanted && !(tightens && matches!(*value, "'allow'" | "'allowedWithoutPermission'"));
                let loaded = loads(kind, &text);
                let valid = validator(kind).is_valid(&instance(&text));
                assert_eq!(valid, wanted, "schema: {kind:?}\n{text}");
                // An example that its rule does not match is no matter of shape.
                let shaped = loaded.as_ref().map_or_else(|error| error.contains("` example "), |()| true);
                assert_eq!(shaped, wanted, "loader: {kind:?}\n{text}\n{loaded:?}");
            }
        }
    }
}

#[test]
fn every_policy_that_comes_with_the_product_fits_the_schema() {
    let policy = validator(Kind::Policy);
    for preset in Preset::ALL {
        assert!(policy.is_valid(&instance(preset.text())), "{preset}");
    }
    let folder = format!("{}/../../tests/data/policy", env!("CARGO_MANIFEST_DIR"));
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "toml") {
            let kind = match path.file_name().and_then(|name| name.to_str()).unwrap() {
                name if name.ends_with(".cases.toml") => Kind::Cases,
                "repository.toml" => Kind::Repository,
                _ => Kind::Policy,
            };
            let text = std::fs::read_to_string(&path).unwrap();
            let told: Vec<String> =
                validator(kind).iter_errors(&instance(&text)).map(|error| error.to_string()).collect();
            assert!(told.is_empty(), "{path:?}: {told:?}");
            count += 1;
        }
    }
    assert!(count >= 2);
}

#[test]
fn every_key_is_on_the_page() {
    let page = page();
    for (kind, path, ..) in TABLES {
        for key in table(&schema(kind), path)["properties"].as_object().unwrap().keys() {
            let told = page.contains(&format!("| `{key}` |")) || page.contains(&format!("### `{key}`"));
            assert!(told, "{kind:?} {path} {key}");
        }
    }
}
