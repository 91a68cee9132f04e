//! The words of `--help`, one constant each: examples first, then what a command does, then its options.

/// The order of a help page.
pub(crate) const TEMPLATE: &str =
    "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// `enclos`.
pub(crate) const ABOUT: &str = "Runs AI-agent sessions under rules that no model can soften.";
/// Examples of `enclos`.
pub(crate) const EXAMPLES: &str = "\
Examples:
  enclos demo                                       see a whole session, nothing to set up
  enclos run \"fix the failing test\"                 one session on this repository
  enclos run --headless --output stream-json \"…\"    the same from a script
  enclos apply last                                 take what the last session made
  enclos journal verify                             check that the journal was not altered
  enclos doctor                                     check this machine
";
/// Exit codes.
pub(crate) const CODES: &str = "\
Exit codes:
  0 done · 1 failed · 2 usage or configuration · 3 budget spent
  4 something was refused by policy or a person, even when a change set came of the rest
  5 approval needed or expired · 6 gateway or model unreachable
  129, 130, 141, 143 ended by a signal";

/// `--plain`.
pub(crate) const PLAIN: &str = "Plain lines: no live region, no cursor movement";
/// `--color`.
pub(crate) const COLOR: &str = "When to use colours [`NO_COLOR` is honoured]";
/// `--json`.
pub(crate) const JSON: &str = "Print JSON";
/// ID.
pub(crate) const ID: &str = "A session: its name, the unique beginning of it, or `last`";

/// `demo`.
pub(crate) const DEMO: &str =
    "Shows a whole session on a small repository, with the real policy, sandbox and journal";
/// Examples of `demo`.
pub(crate) const DEMO_EXAMPLES: &str = "\
Examples:
  enclos demo          you answer the cards
  enclos demo --yes    the demonstration answers them itself
";
/// `demo --yes`.
pub(crate) const DEMO_YES: &str = "Answer the cards itself; the journal says that it was no person";
/// `demo --keep`.
pub(crate) const DEMO_KEEP: &str = "Keep the folder with the repository and the journal";

/// `run`.
pub(crate) const RUN: &str = "Runs one session: a task, a sandbox, a change set";
/// Examples of `run`.
pub(crate) const RUN_EXAMPLES: &str = "\
Examples:
  enclos run \"fix the failing test\"
  enclos run --preset balanced --model openai:http://127.0.0.1:8080/v1#qwen \"add a changelog\"
  enclos run --headless --output json --patch fix.patch \"fix the failing test\"
  enclos run --model script:turns.json \"replay these turns\"
";
/// TASK.
pub(crate) const TASK: &str = "What is to be done; `-` reads it from the standard input of a headless run";
/// `--repo`.
pub(crate) const REPO: &str = "The repository";
/// `--model`.
pub(crate) const MODEL: &str =
    "The model: `openai:URL#MODEL`, `script:FILE`, or a name from the configuration";
/// `--preset`.
pub(crate) const PRESET: &str = "The policy to start from: `strict`, `balanced` or `open`";
/// `--policy`.
pub(crate) const POLICY_FILE: &str = "A policy file; may be given several times";
/// `--headless`.
pub(crate) const HEADLESS: &str =
    "Without a person: nothing is asked, the change set waits for `enclos apply`";
/// `--output`.
pub(crate) const OUTPUT: &str = "What a headless run prints [default: text]";
/// `--on-ask`.
pub(crate) const ON_ASK: &str = "What becomes of a question that needs a person [default: park]";
/// `--patch`.
pub(crate) const PATCH_FILE: &str = "Also write the patch to a file; what is flagged is left out";

/// `chat`.
pub(crate) const CHAT: &str = "Opens a conversation: each message is a turn, until you leave";
/// Examples of `chat`.
pub(crate) const CHAT_EXAMPLES: &str = "\
Examples:
  enclos chat
  enclos chat --repo ../site \"what does this project do?\"
";
/// MESSAGE of `chat`.
pub(crate) const CHAT_MESSAGE: &str = "The first message";

/// `resume`.
pub(crate) const RESUME: &str = "Takes up a session that was left, interrupted or killed";
/// Examples of `resume`.
pub(crate) const RESUME_EXAMPLES: &str = "\
Examples:
  enclos resume last
  enclos resume sess_01k \"and now the second test\"
  enclos resume last --headless --extend
";
/// `--extend`.
pub(crate) const EXTEND: &str = "Grant the next extension of a spent budget";
/// `resume --chat`.
pub(crate) const RESUME_CHAT: &str = "Go on as a conversation";
/// MESSAGE of `resume`.
pub(crate) const RESUME_MESSAGE: &str = "A message to go on with";

/// `sessions`.
pub(crate) const SESSIONS: &str = "Lists sessions, the newest first";
/// Examples of `sessions`.
pub(crate) const SESSIONS_EXAMPLES: &str = "Examples:\n  enclos sessions\n  enclos sessions --json\n";
/// `show`.
pub(crate) const SHOW: &str = "Shows one session: state, budget, what happened";
/// Examples of `show`.
pub(crate) const SHOW_EXAMPLES: &str = "Examples:\n  enclos show last\n";
/// `stop`.
pub(crate) const STOP: &str =
    "Stops a session: its sandbox is destroyed, what was not accepted is thrown away";
/// Examples of `stop`.
pub(crate) const STOP_EXAMPLES: &str = "Examples:\n  enclos stop last\n";

/// `diff`.
pub(crate) const DIFF: &str = "Shows what a session made";
/// Examples of `diff`.
pub(crate) const DIFF_EXAMPLES: &str = "\
Examples:
  enclos diff last
  enclos diff last --patch | git apply --check
";
/// `diff --patch`.
pub(crate) const DIFF_PATCH: &str = "Print the patch alone, as `git apply` takes it";
/// `diff --stat`.
pub(crate) const DIFF_STAT: &str = "Print the files and counts alone";
/// `apply`.
pub(crate) const APPLY: &str = "Applies what a session made to your working tree";
/// Examples of `apply`.
pub(crate) const APPLY_EXAMPLES: &str = "\
Examples:
  enclos apply last                            all files that are not flagged
  enclos apply last --files src/lib.rs ci.yml  these files, flagged or not
";
/// `apply --release`.
pub(crate) const RELEASE: &str =
    "Release held files that are named, for this reason: a written rule must let a person do so";
/// `apply --files`.
pub(crate) const APPLY_FILES: &str = "These files only; a flagged file is applied only when it is named here";
/// `undo`.
pub(crate) const UNDO: &str =
    "Puts the files of a session back to what they were before its last turn, or before a call";
/// Examples of `undo`.
pub(crate) const UNDO_EXAMPLES: &str = "\
Examples:
  enclos undo last               the last turn
  enclos undo last --to call_7   everything from this call on; `enclos show last` names the calls
";
/// `undo --to`.
pub(crate) const UNDO_TO: &str = "Back to just before this call";
/// `discard`.
pub(crate) const DISCARD: &str = "Throws away what a session made";
/// Examples of `discard`.
pub(crate) const RESET: &str = "Erases a session for good: what it said, knew and made; the journal stays, and the next session knows nothing";
/// Examples of `reset`.
pub(crate) const RESET_EXAMPLES: &str = "Examples:\n  enclos reset last\n";
/// Examples of `discard`.
pub(crate) const DISCARD_EXAMPLES: &str = "Examples:\n  enclos discard last\n";

/// `policy`.
pub(crate) const POLICY: &str = "Questions to the policy";
/// `policy check`.
pub(crate) const CHECK: &str = "Reads policy files and checks their examples";
/// Examples of `policy check`.
pub(crate) const CHECK_EXAMPLES: &str = "Examples:\n  enclos policy check policy.toml .enclos.toml\n";
/// FILE of `policy check`.
pub(crate) const CHECK_FILES: &str = "The files, highest scope first";
/// `policy test`.
pub(crate) const TEST: &str =
    "Holds a policy against its examples and against tables of expectations; exit 1 when one fails";
/// Examples of `policy test`.
pub(crate) const TEST_EXAMPLES: &str = "\
Examples:
  enclos policy test policy.toml
  enclos policy test policy.toml team.cases.toml
  enclos policy test current team.cases.toml

A table is a file named `….cases.toml`, with rows such as
  [[case]]
  command = \"cargo test\"        # or: tool = \"write\", args = { path = \"a\" }
  role = \"developer\"            # the default; a list means each
  surface = \"terminal\"          # the default; a list means each
  verdict = \"allow\"
  rule = \"team.tests\"           # optional: the rule that is to decide
";
/// FILE of `policy test`.
pub(crate) const TEST_FILES: &str = "Policy files, highest scope first, or one of `strict`, `balanced`, `open`, `current`; and tables. Without a policy: `current`";
/// `policy diff`.
pub(crate) const POLICY_DIFF: &str =
    "Compares what two policies say: rules, settings, and the answers that become softer or harder";
/// Examples of `policy diff`.
pub(crate) const POLICY_DIFF_EXAMPLES: &str = "\
Examples:
  enclos policy diff current new.toml
  enclos policy diff strict balanced --json
";
/// OLD.
pub(crate) const DIFF_OLD: &str = "The old policy: a file, `strict`, `balanced`, `open` or `current`";
/// NEW.
pub(crate) const DIFF_NEW: &str = "The new policy: the same";
/// `policy simulate`.
pub(crate) const SIMULATE: &str =
    "Judges the decisions of the local journal again by a candidate, and lists what would change";
/// Examples of `policy simulate`.
pub(crate) const SIMULATE_HELP: &str = "\
Examples:
  enclos policy simulate new.toml
  enclos policy simulate strict --days 7 --json

The files are the whole candidate: what is in force does not stand above them. The `.enclos.toml` of a session's
repository counts below them, as it is now, and is named. A decision whose content was deleted is counted, and not guessed. Nothing is changed.
";
/// FILE of `policy simulate`.
pub(crate) const SIMULATE_FILES: &str =
    "The candidate: policy files, highest scope first, or one of `strict`, `balanced`, `open`, `current`";
/// `--days`.
pub(crate) const SIMULATE_DAYS: &str = "Decisions of so many days";
/// `--examples`.
pub(crate) const SIMULATE_EXAMPLES: &str = "How many calls are shown of each change, at most";
/// `policy schema`.
pub(crate) const SCHEMA: &str = "Prints the JSON Schema of policy files, for editors";
/// Examples of `policy schema`.
pub(crate) const SCHEMA_EXAMPLES: &str = "Examples:\n  enclos policy schema > policy.schema.json\n";
/// `--of`.
pub(crate) const SCHEMA_OF: &str = "Of which files";
/// A kind of file.
pub(crate) const SCHEMA_POLICY: &str = "Policy files";
/// A kind of file.
pub(crate) const SCHEMA_REPOSITORY: &str = "A repository's own `.enclos.toml`";
/// A kind of file.
pub(crate) const SCHEMA_CASES: &str = "Tables of expectations, `….cases.toml`";
/// A page.
pub(crate) const PAGE_POLICY: &str = "Every key of policy files";
/// `policy explain`.
pub(crate) const EXPLAIN: &str = "Says what a call would get, by which rule, and why";
/// Examples of `policy explain`.
pub(crate) const EXPLAIN_EXAMPLES: &str = "\
Examples:
  enclos policy explain --tool write
  enclos policy explain --tool edit --args '{\"path\":\"ci.yml\"}' --preset balanced
";
/// `--tool`.
pub(crate) const TOOL: &str = "The tool";
/// `--args`.
pub(crate) const ARGS: &str = "Its arguments, one JSON object; those that do not matter may be left out";
/// `--role`.
pub(crate) const ROLE: &str = "The person's role [default: owner, which a session on your own gateway has]";
/// `--surface`.
pub(crate) const SURFACE: &str = "How the session is driven [default: terminal]";
/// `explain --repo`.
pub(crate) const EXPLAIN_REPO: &str =
    "The repository whose project and `.enclos.toml` count [default: that of the current folder]";
/// `test --repo`, `diff --repo`.
pub(crate) const CURRENT_REPO: &str =
    "The repository in which `current` is meant [default: that of the current folder]";
/// `policy decide`.
pub(crate) const DECIDE: &str = "Judges the calls of an agent that runs elsewhere, by what it has read: JSON lines in, a line out for each";
/// Examples of `policy decide`.
pub(crate) const DECIDE_EXAMPLES: &str = "\
Examples:
  enclos policy decide --stdio --catalogue tools.json
  echo '{\"op\":\"open\",\"session\":\"s1\",\"prompt\":\"pay the bill\"}' | enclos policy decide --stdio

The lines, the catalogue and what quarantine promises: docs/outside.md
";
/// `--stdio`.
pub(crate) const STDIO: &str = "Read questions from the standard input and answer on the standard output";
/// `--catalogue`.
pub(crate) const CATALOGUE: &str = "The agent's tools: what each does, what it reads and where its arguments go (JSON); a tool that it does not name asks";
/// `--quarantine`.
pub(crate) const QUARANTINE: &str =
    "Keep what untrusted sources answer from the planner; `off` for an agent that shows it everything";
/// `decide --preset`.
pub(crate) const PRESET_HARDENS: &str = "A preset besides, which can only harden";
/// `decide --policy`.
pub(crate) const POLICY_HARDENS: &str = "A policy file besides, which can only harden; may be repeated";
/// `policy explain-command`.
pub(crate) const EXPLAIN_COMMAND: &str =
    "Reads a command as the policy does: its pieces, their verdicts, and why";
/// Examples of `policy explain-command`.
pub(crate) const EXPLAIN_COMMAND_EXAMPLES: &str = "\
Examples:
  enclos policy explain-command -- 'git log | head'
  enclos policy explain-command --preset balanced -- 'cargo test && sudo rm -rf /'
  enclos policy explain-command --role developer --surface headless -- make
  echo '{\"id\":1,\"command\":\"ls\"}' | enclos policy explain-command --batch
";
/// `--base`.
pub(crate) const BASE: &str =
    "The verdict of `bash` without any rule: `allow`, `ask` or `disabled`; no policy counts then";
/// `--batch`.
pub(crate) const BATCH: &str = "Read JSON lines `{\"id\",\"base\",\"command\"}` and answer each with a line; without a base, \
     `--preset` or `--policy` the policy in force judges, no repository's; exit 2 when a line was no question";
/// TEXT.
pub(crate) const COMMAND_TEXT: &str =
    "The command, best as one quoted text; several words are joined by spaces";

/// `policy apply`.
pub(crate) const POLICY_APPLY: &str =
    "Saves a policy, once it is checked; sessions at work take it at their next call";
/// Examples of `policy apply`.
pub(crate) const POLICY_APPLY_EXAMPLES: &str = "\
Examples:
  enclos policy apply policy.toml                               for everything on this gateway
  enclos policy apply site.toml --scope project acme/web/site   for one project
  enclos policy apply --remove --scope group acme               no policy of its own any more
";
/// FILE of `policy apply`.
pub(crate) const POLICY_APPLY_FILE: &str = "The policy file";
/// `policy apply --remove`.
pub(crate) const POLICY_REMOVE: &str = "Take the policy of the scope away";
/// `--loosen`.
pub(crate) const POLICY_LOOSEN: &str =
    "Take it away though something becomes looser by that, which is told and kept in the journal";
/// `--scope`.
pub(crate) const SCOPE: &str = "The scope: `instance`, `group PATH` or `project PATH` [default: instance]";
/// `history --scope`.
pub(crate) const HISTORY_SCOPE: &str =
    "One scope alone: `instance`, `group PATH` or `project PATH` [default: all]";
/// `policy history`.
pub(crate) const HISTORY: &str = "Lists the versions of saved policies, the newest first";
/// Examples of `policy history`.
pub(crate) const HISTORY_EXAMPLES: &str =
    "Examples:\n  enclos policy history\n  enclos policy history --scope group acme/web --json\n";
/// `policy rollback`.
pub(crate) const ROLLBACK: &str = "Saves the text of an earlier version again, as a new version";
/// Examples of `policy rollback`.
pub(crate) const ROLLBACK_EXAMPLES: &str =
    "Examples:\n  enclos policy rollback\n  enclos policy rollback --scope project acme/web/site --to 3\n";
/// `policy rollback --to`.
pub(crate) const ROLLBACK_TO: &str = "The number of the version [default: the one before the newest]";
/// `policy show`.
pub(crate) const POLICY_SHOW: &str = "Shows the policy of a scope as it is in force";
/// Examples of `policy show`.
pub(crate) const POLICY_SHOW_EXAMPLES: &str =
    "Examples:\n  enclos policy show\n  enclos policy show --scope group acme\n";

/// `sandbox`.
pub(crate) const SANDBOX: &str = "One sandbox, without a session";
/// `sandbox run`.
pub(crate) const SANDBOX_RUN: &str = "Runs a command in a sandbox over a repository, which stays untouched";
/// Examples of `sandbox run`.
pub(crate) const SANDBOX_EXAMPLES: &str = "\
Examples:
  enclos sandbox run -- 'cargo test'
  enclos sandbox run --json --repeat 10 -- true
";
/// Exit codes of `sandbox run`.
pub(crate) const SANDBOX_CODES: &str = "\
Exit codes:
  that of the command · 124 time limit · 125 the sandbox itself failed · 128 + n ended by signal n";
/// `--repeat`.
pub(crate) const REPEAT: &str = "Run it so often, in the same sandbox";
/// `sandbox run --preset`.
pub(crate) const PTY: &str = "Give it a terminal of its own; nobody types at it";
/// A help text.
pub(crate) const SANDBOX_PRESET: &str = "The preset whose toolchains and limits count";

/// `journal`.
pub(crate) const JOURNAL: &str = "The journal: export and verification";
/// `journal export`.
pub(crate) const EXPORT: &str = "Writes the journal as JSON lines";
/// Examples of `journal export`.
pub(crate) const EXPORT_EXAMPLES: &str = "\
Examples:
  enclos journal export -o journal.jsonl
  enclos journal export --session last
";
/// `--session`.
pub(crate) const EXPORT_SESSION: &str = "One session alone: its name, the unique beginning of it, or `last`";
/// `-o`.
pub(crate) const EXPORT_FILE: &str = "The file; the standard output when absent";
/// `journal verify`.
pub(crate) const VERIFY: &str = "Verifies an export, or the journal of this machine";
/// Examples of `journal verify`.
pub(crate) const VERIFY_EXAMPLES: &str = "\
Examples:
  enclos journal verify
  enclos journal verify journal.jsonl
";
/// Exit codes of `journal verify`.
pub(crate) const VERIFY_CODES: &str = "\
Exit codes:
  0 ok · 1 altered · 2 truncated or missing · 3 fork · 4 only the tail is unsealed · 5 bad input";
/// FILE of `journal verify`.
pub(crate) const VERIFY_FILE: &str = "An export; the journal of this machine when absent";

/// `doctor`.
pub(crate) const DOCTOR: &str = "Checks this machine and says how to mend what fails";
/// Examples of `doctor`.
pub(crate) const DOCTOR_EXAMPLES: &str = "Examples:\n  enclos doctor\n";
/// `host`.
pub(crate) const HOST: &str = "Serves sandboxes to gateways of this machine, as an execution host of its own";
/// Examples of `host`.
pub(crate) const HOST_EXAMPLES: &str = "\
Examples:
  enclos host                                       then: ENCLOS_AGENT_EXECUTION=server enclos run \"…\"
  enclos host --socket /run/enclos/host.sock --state /var/lib/enclos-host --gateway-uid 1000
";
/// `--socket`.
pub(crate) const HOST_SOCKET: &str = "Where it listens; gateways name it as `execution.host`";
/// `--state`.
pub(crate) const HOST_STATE: &str = "Its own folder: histories, bases, and what sessions changed";
/// `--gateway-uid`.
pub(crate) const HOST_GATEWAY_UID: &str =
    "A user besides its own whose gateways it serves; may be given again";
/// `completions`.
pub(crate) const COMPLETIONS: &str = "Prints completions for a shell";
/// Examples of `completions`.
pub(crate) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  enclos completions bash > ~/.local/share/bash-completion/completions/enclos
";
/// SHELL.
pub(crate) const SHELL: &str = "The shell";
/// `reference`.
pub(crate) const REFERENCE: &str = "Prints a page of the reference";
/// PAGE.
pub(crate) const PAGE: &str = "The page";

/// `--color auto`.
pub(crate) const COLOR_AUTO: &str = "on a terminal, unless `NO_COLOR` is set";
/// `--color always`.
pub(crate) const COLOR_ALWAYS: &str = "always";
/// `--color never`.
pub(crate) const COLOR_NEVER: &str = "never";
/// `--output text`.
pub(crate) const OUTPUT_TEXT: &str = "the last message and a summary; progress on the standard error";
/// `--output json`.
pub(crate) const OUTPUT_JSON: &str = "one object at the end";
/// `--output stream-json`.
pub(crate) const OUTPUT_STREAM: &str = "each event as it happens, one a line";
/// `--on-ask park`.
pub(crate) const ASK_PARK: &str = "keep it for `enclos resume` and leave, exit 5";
/// `--on-ask stop`.
pub(crate) const ASK_STOP: &str = "stop the session, exit 5";
/// `--on-ask deny`.
pub(crate) const ASK_DENY: &str = "cancel the call, as automation, and go on";
/// `reference cli`.
pub(crate) const PAGE_CLI: &str = "commands and options";
/// `reference environment`.
pub(crate) const PAGE_ENVIRONMENT: &str = "environment variables";
/// `reference events`.
pub(crate) const PAGE_EVENTS: &str = "events of the stream";

/// `approvals`.
pub(crate) const APPROVALS: &str = "Lists the questions of your sessions that wait for an answer";
/// Examples of `approvals`.
pub(crate) const APPROVALS_EXAMPLES: &str = "\
Examples:
  enclos approvals
  enclos approvals --json    with each whole card
";
/// `approve`.
pub(crate) const APPROVE: &str = "Shows a question's whole card and takes your answer";
/// Examples of `approve`.
pub(crate) const APPROVE_EXAMPLES: &str = "\
Examples:
  enclos approve ap_k3x9w2q7_1          the card, then your key: nothing is approved unseen
  enclos approve ap_k3x9w2q7_1 | cat    a program's yes, refused where the rule wants a person
";
/// `reject`.
pub(crate) const REJECT: &str = "Refuses a question";
/// Examples of `reject`.
pub(crate) const REJECT_EXAMPLES: &str = "\
Examples:
  enclos reject ap_k3x9w2q7_1
  enclos reject ap_k3x9w2q7_1 --say \"use the make target\"

A person's refusal ends the turn, which then waits; with --say the model goes on at once. Through a pipe
it is the refusal of a program, and the model goes on as after a refusal by policy.
";
/// `reject --say`.
pub(crate) const SAY: &str = "A word to the model, which then goes on at once";
/// ID of an approval.
pub(crate) const APPROVAL: &str = "An approval, as `enclos approvals` names it";
/// `grants`.
pub(crate) const GRANTS: &str = "Lists what was granted for the rest of a session, and revokes it";
/// Examples of `grants`.
pub(crate) const GRANTS_EXAMPLES: &str = "\
Examples:
  enclos grants
  enclos grants last --json
  enclos grants revoke gr_k3x9w2q7_1
";
/// `grants revoke`.
pub(crate) const REVOKE_GRANT: &str = "Revokes a grant, at once, in a running session too";
/// ID of a grant.
pub(crate) const GRANT: &str = "A grant, as `enclos grants` names it";
