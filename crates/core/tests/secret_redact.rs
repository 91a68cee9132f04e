//! Redaction: every spelling of what is known, what must stay, marks, and laws over any text.

use std::borrow::Cow;
use std::sync::LazyLock;

use enclos_core::secret::{KnownSecret, Redactor, RedactorError};
use proptest::prelude::*;

const KEY: &str = "k3y/with+signs&\"quotes\"";

fn redactor() -> &'static Redactor {
    static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| known().unwrap());
    &REDACTOR
}

fn known() -> Result<Redactor, RedactorError> {
    Redactor::new(vec![KnownSecret::new("model-key", KEY), KnownSecret::new("Bad Kind!", "another-value")])
}

fn bare() -> Redactor {
    Redactor::new(Vec::new()).unwrap()
}

#[test]
fn a_known_value_is_found_in_every_spelling() {
    let redactor = redactor();
    let base64 = [
        "azN5L3dpdGgrc2lnbnMmInF1b3RlcyI=",
        "dXNlcjprM3kvd2l0aCtzaWducyYicXVvdGVzIg==",
        "eDprM3kvd2l0aCtzaWducyYicXVvdGVzIg==",
    ];
    let hex = "6b33792f776974682b7369676e73262271756f74657322";
    for spelling in [
        KEY,
        hex,
        &hex.to_uppercase(),
        "k3y%2Fwith%2Bsigns%26%22quotes%22",
        "k3y%2fwith%2bsigns%26%22quotes%22",
        r#"k3y/with+signs&\"quotes\""#,
        base64[0],
        base64[1],
        base64[2],
    ] {
        let out = redactor.redact(spelling);
        assert!(out.contains("[secret:model-key]"), "{spelling} became {out}");
        let text = format!("before {spelling} after");
        let out = redactor.redact(&text);
        assert!(out.starts_with("before ") && out.ends_with(" after") && !out.contains("with"), "{out}");
    }
    assert_eq!(redactor.redact("x another-value y"), "x [secret:adind] y");
    assert!(!format!("{redactor:?}").contains("another"), "a redactor does not show what it knows");
    assert!(!format!("{:?}", KnownSecret::new("k", KEY)).contains("k3y"));
}

#[test]
fn known_values_that_share_a_stretch_leave_no_rest() {
    let known = vec![KnownSecret::new("a", "first-second"), KnownSecret::new("b", "second-third")];
    assert_eq!(Redactor::new(known).unwrap().redact("x first-second-third y"), "x [secret:a] y");
}

#[test]
fn a_short_known_value_tears_up_no_text() {
    let redactor = Redactor::new(vec![KnownSecret::new("k", "ab"), KnownSecret::new("k", "")]).unwrap();
    assert_eq!(redactor.redact("abab is a word"), "abab is a word");
}

#[test]
fn what_was_found_is_replaced_and_the_rest_stays() {
    let redactor = bare();
    for (text, out) in [
        ("plain text stays as it is", "plain text stays as it is"),
        ("a ghp_9Xq2LmZ7tRb4KcW8vNd1YpHs6JfG3aEu b", "a [secret:github] b"),
        ("export DB_PASSWORD='tr0ub4dor&3' && make", "export DB_PASSWORD='[secret:password]' && make"),
        ("postgres://app:s3cr3t-w0rd@db/x", "postgres://app:[secret:url-password]@db/x"),
        ("Authorization: Bearer 9Xq2LmZ7tRb4KcW8", "Authorization: Bearer [secret:authorization]"),
        ("mysql -u root -ptr0ub4dor app", "mysql -u root -p[secret:password] app"),
        ("\u{1b}[1mghp_9Xq2LmZ7tRb4KcW8vNd1YpHs6JfG3aEu\u{1b}[0m", "\u{1b}[1m[secret:github]\u{1b}[0m"),
        (r#"{"a":"\"ghp_9Xq2LmZ7tRb4KcW8vNd1YpHs6JfG3aEu\""}"#, r#"{"a":"\"[secret:github]\""}"#),
        ("é password=tr0ub4dor9 é", "é password=[secret:password] é"),
    ] {
        assert_eq!(redactor.redact(text), out);
    }
    assert!(matches!(redactor.redact("nothing"), Cow::Borrowed(_)));
}

#[test]
fn private_keys_go_whole_with_or_without_their_end() {
    let redactor = bare();
    let lines = "MIIEowIBAAKCAQEA9Xq2LmZ7tRb4KcW8vNd1YpHs6JfG3aEu\nabcDEF123+/=\n";
    let whole = format!("x -----BEGIN RSA PRIVATE KEY-----\n{lines}-----END RSA PRIVATE KEY----- y");
    assert_eq!(redactor.redact(&whole), "x [secret:private-key] y");
    let cut = format!("x\n-----BEGIN OPENSSH PRIVATE KEY-----\n{lines}");
    assert_eq!(redactor.redact(&cut), "x\n[secret:private-key]");
    let header = format!(
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n{lines}-----END RSA PRIVATE KEY-----"
    );
    assert_eq!(redactor.redact(&header), "[secret:private-key]");
    let public = "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----";
    assert_eq!(redactor.redact(public), public);
}

#[test]
fn hashes_uuids_references_and_names_stay() {
    let redactor = bare();
    for text in [
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "hmac-sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "commit 9f2c1e7ab34d5566778899aabbccddeeff001122",
        "id 3f2b8c1e-6d7a-4e5f-9a0b-1c2d3e4f5a6b",
        "key 9f2c1e7ab34d5566778899aabbccddeeff001122 of the cache",
        "sess_01JD8Q3ZK4N5P6R7S8T9V0W1X2 opened",
        "password=$DB_PASSWORD token=${{ secrets.TOKEN }} secret=<your secret>",
        "let token = parser.next_token()?;",
        "pub fn set_password(&mut self, password: String) {}",
        "prompt_tokens=1234 max_tokens: 4096",
        "secrets/db/password.txt",
        "key=ArrowDown api_key_path=/etc/app/key.pem",
    ] {
        assert_eq!(redactor.redact(text), text);
    }
}

#[test]
fn passwords_that_tools_take_by_name_or_glued_are_found() {
    let redactor = bare();
    for text in [
        "PGPASSWORD=tr0ub4dor& psql -h db app",
        "env PGPASSWORD='tr0ub4dor&' psql",
        "MYSQL_PWD=tr0ub4dor& mysql app",
        "mysql -u root -ptr0ub4dor& app",
        "mysql -ptr0ub4dor&",
        "mysqldump --password=tr0ub4dor& app",
        "userpassword: tr0ub4dor&",
        "SSHPASS=tr0ub4dor& sshpass -e ssh h",
        "REDISCLI_AUTH=tr0ub4dor& redis-cli",
    ] {
        let out = redactor.redact(text);
        assert!(out.contains("[secret:") && !out.contains("tr0ub4dor"), "{text} became {out}");
    }
}

#[test]
fn a_mark_cannot_be_posed_around_a_secret() {
    let redactor = bare();
    let posed = "[secret:ghp_9Xq2LmZ7tRb4KcW8vNd1YpHs6JfG3aEu]";
    assert!(!redactor.redact(posed).contains("9Xq2"), "{}", redactor.redact(posed));
}

#[test]
fn a_long_value_goes_whole() {
    let text = format!("password={} after", "aB3".repeat(9000));
    assert_eq!(bare().redact(&text), "password=[secret:password] after");
}

#[test]
fn texts_made_to_be_slow_are_not() {
    let redactor = redactor();
    for part in [
        "token=",
        "-----BEGIN PRIVATE KEY-----",
        "://a:",
        "sk-",
        "password ",
        "eyJ.",
        "%25",
        "\\\\",
        "key '",
        "cookie: a=",
        "hooks.slack.com/",
        "echo a --password-stdin ",
        "-u a:",
        "aGVsbG8gd29ybGQgaGVsbG8gd29y ",
    ] {
        let text = part.repeat(20_000 / part.len());
        let _ = redactor.redact(&text);
    }
}

/// Texts that hold pieces of secrets, marks and what surrounds them.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "password",
        "token",
        "secret",
        "api_key",
        "=",
        ": ",
        " ",
        "\"",
        "'",
        "\n",
        "\\n",
        "%22",
        "\u{1b}[1m",
        "\u{200b}",
        "\0",
        "ghp_9Xq2LmZ7tRb4KcW8vNd1YpHs6JfG3aEu",
        "tr0ub4dor-9Xq2LmZ7",
        "AKIA9XQ2LMZ7TRB4KCW8",
        "://",
        "user:",
        "@host",
        "-----BEGIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "MIIEowIBAAKCAQEA9Xq2",
        "[secret:github]",
        "[secret:1password]",
        "[secret:",
        "]",
        "bearer ",
        "basic ",
        "YXBpOnRyMHViNGRvci05WHEyTG1aNw==",
        "é",
        "cookie: ",
        "sid=",
        ";",
        "k3y/with+signs&\"quotes\"",
        "6b33792f776974682b7369676e73262271756f74657322",
        "-u ",
        "mysql -p",
        "echo ",
        "--password-stdin",
        "--",
        ",",
        "(",
        "est",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn redaction_is_idempotent(text in pieces()) {
        let redactor = redactor();
        let once = redactor.redact(&text).into_owned();
        let twice = redactor.redact(&once).into_owned();
        prop_assert_eq!(&once, &twice, "{:?}", text);
    }

    #[test]
    fn no_text_panics_and_no_known_value_survives(before in ".{0,60}", after in ".{0,60}") {
        let redactor = redactor();
        let text = format!("{before}{KEY}{after}");
        let out = redactor.redact(&text);
        prop_assert!(!out.contains(KEY));
        let _ = redactor.redact(&before);
    }
}
