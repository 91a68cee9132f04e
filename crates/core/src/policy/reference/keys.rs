//! The keys of each kind of file.

use super::{Form, Key};

const VERDICTS: &[&str] =
    &["allow", "ask", "disabled", "allowedWithoutPermission", "allowedWithPermission", "exclude"];
const TIGHT: &[&str] = &["ask", "disabled", "allowedWithPermission", "exclude"];
const CATEGORIES: &[&str] = &["read", "write", "delete", "bash", "egress"];
const ROLES: &[&str] = &["reader", "developer", "maintainer", "owner"];
const SURFACES: &[&str] = &["terminal", "ide", "web", "headless", "background", "mcp"];

const SMALLEST: &str = "the smallest";
const EVERY_YES: &str = "every scope that speaks must say `true`";
const STRICTEST: &str = "the strictest";
const MEET: &str = "what every scope that speaks names";
const BUDGET: &str = "of the configuration";

/// A key that may be left out.
const fn key(name: &'static str, form: Form, default: &'static str, means: &'static str) -> Key {
    Key { name, form, required: false, default, law: "", means }
}

/// A key that must stand.
const fn needed(name: &'static str, form: Form, means: &'static str) -> Key {
    Key { name, form, required: true, default: "", law: "", means }
}

/// A setting, with the law by which scopes are joined.
const fn setting(
    name: &'static str,
    form: Form,
    default: &'static str,
    law: &'static str,
    means: &'static str,
) -> Key {
    Key { name, form, required: false, default, law, means }
}

/// A ceiling.
const fn ceiling(name: &'static str, means: &'static str) -> Key {
    setting(name, Form::Count(0, None), BUDGET, SMALLEST, means)
}

const ID: Key = key(
    "id",
    Form::Name,
    "`NAME.N`, the policy's name and the rule's number",
    "the rule's name in reports and in the journal; once in a file",
);
const TOOL: Key = key(
    "tool",
    Form::Texts,
    "any",
    "tools: `read`, `server/tool`, `server/*`, `*`; `*` stands for a whole segment only",
);
const CATEGORY: Key = key("category", Form::Words(CATEGORIES), "any", "what the tool does");
const SERVER: Key = key("server", Form::Texts, "any", "the server of the tool; `*` for any server");
const WHEN: Key = key(
    "when",
    Form::SomeTables(CONDITION),
    "always",
    "conditions on arguments, all of which must hold; not with `command`",
);
const COMMAND: Key =
    key("command", Form::Argv, "any", "the first words of a command, for `bash`; not with `when`");
const REASON: Key = key("reason", Form::Text, "words of Enclos", "shown to the person");

const CONDITION: &[Key] = &[
    needed("pointer", Form::Text, "which argument, as a JSON pointer such as `/path`"),
    key("equals", Form::Value, "", "is this value; exactly one of these five stands in a condition"),
    key("in", Form::Values, "", "is one of these values"),
    key("prefix", Form::Text, "", "is a text that begins so"),
    key("glob", Form::Text, "", "is a text that this pattern matches whole; `*` stops at `/`, `**` does not"),
    key("regex", Form::Text, "", "is a text that this expression of linear time matches whole"),
];

const APPROVE: &[Key] = &[
    setting(
        "role",
        Form::Word(ROLES),
        "whoever answers for the session",
        "the highest",
        "the least role of who approves",
    ),
    setting("quorum", Form::Count(1, Some(16)), "1", "the largest", "how many approve"),
    setting(
        "remember",
        Form::Truth,
        "false",
        EVERY_YES,
        "whether the answer may be remembered for the session",
    ),
    setting(
        "person",
        Form::Truth,
        "false",
        "one scope that says `true` is enough",
        "whether a program may never answer",
    ),
];

const EXAMPLE: &[Key] = &[
    key("tool", Form::Text, "the rule's only tool", "the tool that is called"),
    key("args", Form::Arguments, "none", "its arguments"),
];

const RULE: &[Key] = &[
    ID,
    TOOL,
    CATEGORY,
    SERVER,
    key("role", Form::Words(ROLES), "any", "the person's highest role on the project, exactly"),
    key("surface", Form::Words(SURFACES), "any", "how the session is driven"),
    WHEN,
    COMMAND,
    Key { law: STRICTEST, ..needed("verdict", Form::Word(VERDICTS), "the answer") },
    key(
        "approve",
        Form::Table(APPROVE),
        "one approval, not remembered",
        "what a question asks for; with `ask` only",
    ),
    key("shadow", Form::Truth, "false", "evaluated and reported, not enforced"),
    REASON,
    key(
        "match",
        Form::Examples(EXAMPLE),
        "none",
        "examples that the rule must match, checked when the file is read: commands as text, or calls",
    ),
    key("not_match", Form::Examples(EXAMPLE), "none", "examples that it must not match"),
];

const COMMANDS: &[Key] = &[setting(
    "contained",
    Form::Word(&["allow", "ask"]),
    "ask",
    STRICTEST,
    "`allow`: what the sandbox contains by itself does not ask",
)];

const EXECUTION: &[Key] = &[
    setting(
        "place",
        Form::Word(&["workstation", "server"]),
        "of the machine",
        "the highest scope fixes it",
        "where sandboxes open",
    ),
    setting(
        "output_keep",
        Form::Word(&["head", "head_and_tail"]),
        "head",
        "the nearest scope chooses",
        "what is kept of an output over its limit: its beginning, or in a fifth of the room its end too",
    ),
    setting(
        "backend",
        Form::Word(&["linux", "oci"]),
        "of the machine",
        "the highest scope fixes it",
        "what is around a sandbox: the machine itself, or a container",
    ),
    ISOLATION,
    ACTIONS,
    MINUTES,
    EXTENSIONS,
    TOKENS,
    SESSION_COMMANDS,
    SECONDS,
    OUTPUT,
    CPUS,
    MEMORY,
    PROCESSES,
    DISK,
];

/// As [`EXECUTION`], without the choices that are not for a repository to make.
const CEILINGS: &[Key] = &[
    ISOLATION,
    ACTIONS,
    MINUTES,
    EXTENSIONS,
    TOKENS,
    SESSION_COMMANDS,
    SECONDS,
    OUTPUT,
    CPUS,
    MEMORY,
    PROCESSES,
    DISK,
];

const ISOLATION: Key = setting(
    "isolation",
    Form::Word(&["standard", "hard"]),
    "standard",
    STRICTEST,
    "the level that a machine has to give, or no session opens: with `hard` the kernel holds every ceiling, by control \
     groups and a disk quota, and each session is a user of its own outside",
);
const ACTIONS: Key = ceiling("session_max_actions", "tool calls of a session");
const MINUTES: Key = ceiling("session_max_minutes", "minutes of a session");
const EXTENSIONS: Key = ceiling("session_max_extensions", "extensions of a session");
const TOKENS: Key = ceiling("session_max_tokens", "tokens of a session's model");
const SESSION_COMMANDS: Key = ceiling("session_max_commands", "commands of a session");
const SECONDS: Key = ceiling("command_max_seconds", "seconds of one command");
const OUTPUT: Key = ceiling("command_max_output_bytes", "bytes that are kept of a command's output");
const CPUS: Key = ceiling("sandbox_cpus", "processors of a sandbox");
const MEMORY: Key = ceiling("sandbox_memory_bytes", "bytes of memory of a sandbox");
const PROCESSES: Key = ceiling("sandbox_processes", "processes of a sandbox");
const DISK: Key = ceiling("sandbox_disk_bytes", "bytes that a sandbox may write");

const APPROVALS: &[Key] = &[
    setting(
        "on_ask",
        Form::Word(&["park", "stop", "deny"]),
        "of the run",
        STRICTEST,
        "what a session with nobody to ask does with a question",
    ),
    setting(
        "expiry_minutes",
        Form::Count(0, None),
        "30",
        SMALLEST,
        "minutes until an unanswered question expires",
    ),
];

const OF_REPOSITORY: &[Key] = &[
    setting(
        "policy",
        Form::Truth,
        "true",
        "only the instance's policy may say `false`",
        "take the repository's `.enclos.toml`",
    ),
    setting(
        "instructions",
        Form::Truth,
        "true",
        EVERY_YES,
        "quote the repository's `AGENTS.md` to the model",
    ),
    setting(
        "ignored",
        Form::Mounts,
        "none",
        MEET,
        "ignored files that are shown, by path or by pattern as in a `.gitignore`; one that looks like a credential only \
         when its whole path is named",
    ),
];

const TOOLCHAINS: &[Key] =
    &[setting("mount", Form::Mounts, "all", MEET, "toolchains of the home directory, mounted read-only")];
const CACHES: &[Key] = &[setting(
    "mount",
    Form::Mounts,
    "none",
    MEET,
    "package caches of the home directory, mounted read-only",
)];

const LEVELS: &[&str] = &["PUBLIC", "INTERNAL", "CONFIDENTIAL", "RESTRICTED"];
const RELEASED: &[&str] = &["INTERNAL", "CONFIDENTIAL"];

const LABEL_PATH: &[Key] = &[
    needed("path", Form::Text, "a path or pattern below the repository's root, as in a `.gitignore`"),
    needed("level", Form::Word(LEVELS), "the level of these files at least"),
];

const LABEL_MODEL: &[Key] = &[
    needed("name", Form::Text, "the model, as sessions name it, or `*`"),
    needed("clearance", Form::Word(LEVELS), "the highest level that it may be sent"),
];

const LABELS: &[Key] = &[
    setting("project", Form::Word(LEVELS), "INTERNAL", "the highest", "what a session knows once it is open"),
    setting(
        "repository",
        Form::Word(&["trusted", "untrusted"]),
        "untrusted",
        "untrusted",
        "whether the text of the repository can be trusted; it binds only what leaves the sandbox",
    ),
    setting(
        "raise",
        Form::Word(&["allow", "ask"]),
        "ask",
        STRICTEST,
        "what happens when the model reads a file above what the session knows",
    ),
    setting("path", Form::Tables(LABEL_PATH), "none", "all of them", "files above the project's level"),
    setting(
        "model",
        Form::Tables(LABEL_MODEL),
        "the project's level, for a model that a person names on their own gateway",
        "the lowest; a model that a scope does not name has PUBLIC there",
        "what models may be sent",
    ),
];

const DOWNGRADE: &[Key] = &[
    needed("id", Form::Name, "the rule's name on cards and in the journal"),
    needed("kind", Form::Word(&["consent"]), "a person is asked for each flow"),
    needed("from", Form::Word(RELEASED), "the highest level that may go; never RESTRICTED"),
    needed("to", Form::Word(LEVELS), "the lowest class that it may go to"),
    needed(
        "destination",
        Form::Text,
        "where it may go, by name, such as `change-set` or `tool:NAME`; `*` for anywhere",
    ),
    needed("author", Form::Text, "who answers for the rule"),
];

/// The keys of a policy file.
pub(super) const POLICY: &[Key] = &[
    needed("name", Form::Name, "the policy's name"),
    key("version", Form::Count(0, None), "none", "the author's own count; it decides nothing"),
    setting(
        "continue_after_rejection",
        Form::Truth,
        "false",
        EVERY_YES,
        "go on at once after a person's refusal",
    ),
    key("rule", Form::Tables(RULE), "none", "a rule"),
    key("commands", Form::Table(COMMANDS), "", "commands"),
    key("execution", Form::Table(EXECUTION), "", "where sessions run, and ceilings on what they use"),
    key("approvals", Form::Table(APPROVALS), "", "questions"),
    key("repository", Form::Table(OF_REPOSITORY), "", "what is taken from the repository itself"),
    key("toolchains", Form::Table(TOOLCHAINS), "", "toolchains"),
    key("caches", Form::Table(CACHES), "", "package caches"),
    key("labels", Form::Table(LABELS), "", "levels of files, and what models may be sent"),
    Key {
        law: "only the highest scope that has a policy",
        ..key("downgrade", Form::Tables(DOWNGRADE), "none", "a release to a lower class")
    },
];

const TIGHT_RULE: &[Key] = &[
    ID,
    TOOL,
    CATEGORY,
    SERVER,
    WHEN,
    COMMAND,
    Key {
        law: STRICTEST,
        ..needed("verdict", Form::Word(TIGHT), "the answer: a repository can only tighten")
    },
    REASON,
];

/// The keys of a repository's own file.
pub(super) const REPOSITORY: &[Key] = &[
    key("rule", Form::Tables(TIGHT_RULE), "none", "a rule"),
    key("execution", Form::Table(CEILINGS), "", "ceilings on what sessions use"),
];

const CASE: &[Key] = &[
    key("tool", Form::Text, "", "the tool that is called"),
    key("args", Form::Arguments, "none", "its arguments"),
    key("command", Form::Text, "", "a command, in the place of `tool` and `args`"),
    key("role", Form::Words(ROLES), "developer", "the person's role; a list means each"),
    key("surface", Form::Words(SURFACES), "terminal", "how the session is driven; a list means each"),
    needed("verdict", Form::Word(VERDICTS), "the verdict that is wanted"),
    key("rule", Form::Text, "any", "the rule that is to decide"),
];

/// The keys of a table of expectations.
pub(super) const CASES: &[Key] = &[needed("case", Form::Tables(CASE), "an expectation")];
