//! `env -S`: one text that `env` cuts into words of its own command line.
//!
//! Its quotes and escapes are like those of a shell, but it knows no operators. What comes of it is given back as words
//! of shell text, each in quotes, so that it can be read as the command line that it becomes.

/// A word in quotes, as shell text.
pub(in crate::command) fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The words of `text`, each as shell text.
pub(in crate::command) fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = None;
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match (character, quoted) {
            ('\'' | '"', None) => {
                quoted = Some(character);
                word.get_or_insert_default();
            }
            (_, Some(quote)) if quote == character => quoted = None,
            ('\\', _) => match rest.next() {
                Some('c') if quoted.is_none() => break,
                Some('_') if quoted.is_none() => words.extend(word.take()),
                Some(escaped) => word.get_or_insert_default().push(unescaped(escaped)),
                None => {}
            },
            ('$', None | Some('"')) if rest.as_str().starts_with('{') => {
                // A variable: nothing, as long as its value is not known.
                let length = rest.as_str().find('}').map_or(rest.as_str().len(), |at| at + 1);
                rest = rest.as_str().get(length..).unwrap_or("").chars();
                word.get_or_insert_default();
            }
            ('#', None) if word.is_none() => break,
            (' ' | '\t' | '\n' | '\r', None) => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words.iter().map(|word| quote(word)).collect()
}

fn unescaped(escaped: char) -> char {
    match escaped {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '_' => ' ',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words_are_cut_as_env_cuts_them() {
        for (text, words) in [
            ("-u X sudo ls", "'-u' 'X' 'sudo' 'ls'"),
            ("'su'do \"a b\"", "'sudo' 'a b'"),
            ("a\\_b \"a\\_b\"", "'a' 'b' 'a b'"),
            ("a # b", "'a'"),
            ("a\\cb", "'a'"),
            ("a;b|c", "'a;b|c'"),
            ("${X}sudo", "'sudo'"),
            ("a\\'b", "'a'\\''b'"),
            ("''", "''"),
        ] {
            assert_eq!(split(text).join(" "), words, "{text}");
        }
    }
}
