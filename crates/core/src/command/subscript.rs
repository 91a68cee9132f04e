//! Text that is harmless until bash evaluates it: subscripts that hold a substitution, and words that are read twice.
//!
//! `a[$(id)]` in quotes is text. Read as the name of a variable, or as the value of one in arithmetic, its subscript is
//! expanded, and the substitution runs. This only tells such text by its shape; it neither reads nor judges it.

/// Whether `text` holds something that expanding it as a word would run or read.
pub(super) fn expands(text: &str) -> bool {
    text.contains(['$', '`']) || text.contains("<(") || text.contains(">(")
}

/// Whether `text` holds a command substitution.
pub(super) fn substitutes(text: &str) -> bool {
    text.contains('`') || text.contains("$(")
}

/// Whether evaluating `text` as a name or in arithmetic would run something: an expansion inside a subscript, or in the
/// elements of an array that `declare` takes as one text.
pub(super) fn runs(text: &str) -> bool {
    text.contains(['$', '`']) && (in_subscript(text) || in_elements(text))
}

/// Whether an expansion that can run something stands inside `name[ … ]`.
fn in_subscript(text: &str) -> bool {
    let mut depth = 0_usize;
    let mut quote = None;
    let mut before = ' ';
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '[' if depth > 0 && quote.is_none() || is_name(before) && depth == 0 => depth += 1,
            _ if depth == 0 => {}
            '`' => return true,
            '$' if rest.as_str().starts_with(['(', '{', '[']) => return true,
            '\\' => {
                rest.next();
            }
            '"' | '\'' if quote.is_none() => quote = Some(character),
            '"' | '\'' if quote == Some(character) => quote = None,
            ']' if quote.is_none() => depth -= 1,
            _ => {}
        }
        before = character;
    }
    false
}

/// Whether `name=( … )` stands in one text, with an expansion in it.
fn in_elements(text: &str) -> bool {
    let value = match text.split_once('=') {
        Some((name, value)) if name.trim_end_matches('+').chars().all(is_name) => value,
        _ => text,
    };
    value.starts_with('(') && (substitutes(value) || value.contains("${"))
}

fn is_name(character: char) -> bool {
    character == '_' || character.is_ascii_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn subscripts_that_run_something_are_told_by_their_shape() {
        for text in [
            "a[$(id)]",
            "a[0$(id)]",
            "a[x$(id)]",
            "a[ $(id)]",
            "a[`id`]",
            "1+a[${x:=$(id)}]",
            "a[b[0]$(id)]",
            "a[\"]\"$(id)]",
            "a[\\]$(id)]",
            "a['$(id)']",
            "x=a[$(id)]",
            "a[$(id)",
            "x=($(id))",
            "x+=(`id`)",
            "([a]=$(id))",
        ] {
            assert!(runs(text), "{text}");
        }
        for text in [
            "$(id)",
            "a[0] $(id)",
            "{a[$1]=$(NF-1)}",
            "[$(id)]",
            "a[$i]",
            "see [docs] `id`",
            "(a)",
            "x=$(id)",
        ] {
            assert!(!runs(text), "{text}");
        }
    }
}
