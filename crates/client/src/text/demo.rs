//! Sentences of the demonstration.

/// The first words.
pub(crate) const DEMO_WELCOME: &str = "A demonstration: an agent mends a bug under a policy. Only the model is played from a script; all else is real.";
/// The task.
pub(crate) const DEMO_TASK: &str = "The test of this calculator fails. Find out why and mend it.";
/// What the script model says, turn by turn.
pub(crate) const DEMO_TURNS: [&str; 6] = [
    "I will look at the project first.",
    "Multiplication looks suspicious. I will run the test to see it fail.",
    "The test fails as expected. I will try to take over the file as root.",
    "That was refused, and it is not needed. I will mend the line that is wrong.",
    "Now the test again.",
    "The product was computed as a sum. I changed one line in calc.sh, and all tests pass.",
];
/// A call that ran by itself.
pub(crate) const DEMO_READING: &str =
    "Reading is allowed by the policy: nothing was asked, and the rule is named.";
/// A call that never ran.
pub(crate) const DEMO_REFUSED: &str =
    "Refused whatever anyone answers: it never ran, nobody was asked, and the session goes on.";
/// A card that answered itself.
pub(crate) const DEMO_ANSWERED: &str =
    "`--yes` approves this. The journal says that it was automation: a person would press `a`.";
/// A change set that was accepted by itself.
pub(crate) const DEMO_ACCEPTED: &str = "`--yes` accepts the changes. Until now the repository was untouched.";
/// Nothing was applied.
pub(crate) const DEMO_NOT_APPLIED: &str =
    "The change was not accepted, so the repository is as it was: nothing leaves the sandbox without a yes.";
/// The change was applied.
pub(crate) const DEMO_APPLIED: &str =
    "The change set is applied. Now the project's own test, in a fresh sandbox over your tree.";
/// The test fails.
pub(crate) const DEMO_TEST_FAILED: &str = "the change was applied and the project's test still fails";
/// The test passes.
pub(crate) const DEMO_TEST_PASSED: &str =
    "The test passes. Every step above is in the journal, which is verified now.";

/// The repository.
pub(crate) fn demo_made(repo: &str, with_git: bool) -> String {
    let history = if with_git { "with one commit" } else { "without git, which was not found" };
    format!("A small repository with a failing test, {history}: {repo}")
}

/// The rules.
pub(crate) fn demo_rules(yes: bool) -> String {
    let answers = if yes { "The demonstration answers the cards itself." } else { "You answer the cards." };
    format!(
        "The policy is `strict`: reading is allowed, writing and commands ask, some commands never run. {answers}"
    )
}

/// A run that did not come to its end.
pub(crate) fn demo_ended(code: u8) -> String {
    format!("The session ended with code {code} before the demonstration was over.")
}

/// The folder that stays.
pub(crate) fn demo_kept(path: &str) -> String {
    format!("Kept: {path}")
}

/// The last words, a line each.
pub(crate) fn demo_done(session: &str) -> Vec<String> {
    vec![
        format!(
            "Shown in {session}: reads ran by themselves, a test and an edit waited for an answer, `sudo` never \
             ran, the repository changed only when the change set was accepted, and the journal tells all of it."
        ),
        "Now yours: enclos run --model openai:URL#MODEL \"your task\"".to_owned(),
    ]
}
