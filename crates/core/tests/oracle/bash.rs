//! What is asked of bash, and which of its differences to the reader are explained: for the tests and for the fuzz targets,
//! which are a workspace of their own.

/// Parses each text under `-n` in a subshell, and answers `1` or `0`. Nothing runs.
pub(crate) const ASK: &str = r#"while IFS= read -r -d '' text; do
    said=$(LC_ALL=C "$BASH" --noprofile --norc -n -c -- "$text" 2>&1 >/dev/null)
    code=$? errors=
    while IFS= read -r line; do [[ -z $line || $line == *warning:* ]] || errors=1; done <<< "$said"
    if [[ $code -eq 0 && -z $errors ]]; then echo 1; else echo 0; fi
done"#;

/// Kinds that bash lets through under `-n` and refuses, or reads otherwise, only when it runs them; told by the reason
/// alone, so that a text which merely holds such a thing explains nothing.
pub(crate) fn is_explained(reason: &str) -> bool {
    // Parts that bash parses when it runs them.
    let later = [
        "in backquotes:",
        "in a here-document:",
        "in a text that is handed on:",
        "in a subscript:",
        "in a pattern:",
        "in arithmetic:",
        "in a substitution that begins like arithmetic:",
        "in single quotes that do not protect:",
    ];
    // `${…}` is only checked when it is expanded; an empty `[[ ]]` makes bash give up the whole text without a word,
    // and call that success, and `&&` right behind `=~` an expression; two versions of bash differ on the rest.
    let checked_later = [
        "`${`",
        "for ((",
        "stands behind `coproc`",
        "where bash knows no array",
        "a subscript stands behind",
        "`]]`",
        "`=~` stands without",
        "delimiter",
        "here-document begins in a substitution",
        "here-document inside `$(`",
        "here-document stands inside `((`",
        "process substitution inside",
        "only counts the parentheses",
        "in the subscript of an array's element",
    ];
    later.iter().any(|part| reason.starts_with(part))
        || checked_later.iter().any(|kind| reason.contains(kind))
}
