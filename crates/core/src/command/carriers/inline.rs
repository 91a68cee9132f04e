//! Programs of other languages, given in the command line: the calls in them that start a process.
//!
//! Not a grammar of any language. It finds a word that starts processes in one of them, takes the texts in quotes
//! behind it, and hands them on to be read. What it does not find still asks as a script; it never frees anything.

/// Functions, methods and keywords that start a process, over all languages.
const STARTS: [&str; 39] = [
    "system",
    "exec",
    "execl",
    "execle",
    "execlp",
    "execlpe",
    "execv",
    "execve",
    "execvp",
    "execvpe",
    "execSync",
    "execFile",
    "execFileSync",
    "popen",
    "popen2",
    "popen3",
    "capture2",
    "capture2e",
    "capture3",
    "Popen",
    "run",
    "call",
    "check_call",
    "check_output",
    "getoutput",
    "getstatusoutput",
    "create_subprocess_shell",
    "create_subprocess_exec",
    "spawn",
    "spawnSync",
    "spawnl",
    "spawnlp",
    "spawnv",
    "spawnvp",
    "shell_exec",
    "passthru",
    "proc_open",
    "shell",
    "qx",
];
/// The same, where another word stands before them: `os.execute`, `shell-command`.
const QUALIFIED: [&str; 3] = ["execute", "command", "process"];
const QUALIFIERS: [&str; 4] = ["os.", "shell-", "call-", "start-"];
/// The most texts taken from one call.
const MAX_TEXTS: usize = 64;

/// What of a language matters here.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::command) struct Language {
    /// Backquotes start a process.
    backquotes: bool,
    /// Words need no quotes.
    bare: bool,
}

impl Language {
    /// The language of an interpreter of this name.
    pub(in crate::command) fn of(interpreter: &str) -> Self {
        let bare = interpreter.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
        Self {
            backquotes: matches!(bare, "perl" | "ruby" | "php" | "irb"),
            bare: matches!(bare, "tcl" | "tclsh" | "wish" | "expect"),
        }
    }
}

/// The commands that a program starts. Linear in its length.
pub(in crate::command) fn commands(code: &str, language: Language) -> Vec<String> {
    let mut commands = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        if first == '`' && language.backquotes {
            let inside = rest.get(1..).unwrap_or("");
            let end = inside.find('`').unwrap_or(inside.len());
            commands.push(inside.get(..end).unwrap_or("").to_owned());
            rest = inside.get(end + 1..).unwrap_or("");
        } else if let Some(after) = rest.strip_prefix("%x").filter(|_| language.backquotes) {
            rest = call(after, true, &mut commands);
        } else if is_name(first) {
            let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            rest = after;
            let before = code.get(..code.len() - after.len() - word.len()).unwrap_or("");
            if word == "open" {
                piped(after, &mut commands);
            } else if STARTS.contains(&word)
                || QUALIFIED.contains(&word) && QUALIFIERS.iter().any(|word| before.ends_with(word))
            {
                rest = call(after, language.bare || word == "qx", &mut commands);
            }
        } else {
            rest = rest.get(first.len_utf8()..).unwrap_or("");
        }
    }
    commands
}

/// What `open` in Perl runs: a text that begins or ends with a bar, or those behind `-|` and `|-`.
fn piped(code: &str, commands: &mut Vec<String>) {
    let line = code.split([';', '\n']).next().unwrap_or("");
    let mut texts = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find(['"', '\'']) {
        let Some((text, after)) = rest.get(at..).and_then(quoted) else { break };
        texts.push(text);
        rest = after;
    }
    if texts.iter().any(|text| text.trim().starts_with('|') || text.trim().ends_with('|')) {
        commands.extend(texts.iter().map(|text| text.trim().trim_matches('|').to_owned()));
        commands.push(texts.iter().filter(|text| !text.contains('|')).cloned().collect::<Vec<_>>().join(" "));
    }
}

fn is_name(character: char) -> bool {
    character == '_' || character.is_ascii_alphanumeric()
}

/// The texts behind a word that starts a process. One is a command line, several are its words. Without quotes, as
/// in Tcl, it is the rest of the line. What is left of the code.
fn call<'c>(code: &'c str, bare: bool, commands: &mut Vec<String>) -> &'c str {
    const BETWEEN: [char; 9] = [' ', '\t', '\n', '(', '[', '{', ',', ']', '%'];
    let mut texts: Vec<String> = Vec::new();
    let mut rest = code.trim_start_matches(BETWEEN);
    while texts.len() < MAX_TEXTS {
        let marked = rest.trim_start_matches(['f', 'r', 'b', 'u', 'w']);
        let Some((text, after)) = quoted(rest).or_else(|| quoted(marked)) else { break };
        texts.push(text);
        rest = after.trim_start_matches(BETWEEN);
    }
    match texts.as_slice() {
        [] if !bare => code,
        [] => {
            let end = code.find([';', '\n', ')', ']', '}']).unwrap_or(code.len());
            let (line, after) = code.split_at_checked(end).unwrap_or((code, ""));
            commands.push(line.trim_start_matches(['(', '[', '{', ' ', '\t']).to_owned());
            after
        }
        [only] => {
            commands.push(only.clone());
            rest
        }
        words => {
            let words: Vec<String> =
                words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
            commands.push(words.join(" "));
            rest
        }
    }
}

/// A text in the brackets of `q` or `qq` at the head of the code, and what is left behind it.
fn bracketed(code: &str) -> Option<(String, &str)> {
    let inside = code.strip_prefix("qq").or_else(|| code.strip_prefix('q'))?;
    let close = match inside.chars().next()? {
        '{' => '}',
        '(' => ')',
        '[' => ']',
        '<' => '>',
        other if other.is_ascii_punctuation() => other,
        _ => return None,
    };
    let (text, rest) = inside.get(1..)?.split_once(close)?;
    Some((text.to_owned(), rest))
}

/// A text in quotes at the head of the code, and what is left behind it.
fn quoted(code: &str) -> Option<(String, &str)> {
    if let Some(text) = bracketed(code) {
        return Some(text);
    }
    let quote = code.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let thrice: String = [quote; 3].iter().collect();
    let triple = code.starts_with(&thrice) && code.get(3..).is_some_and(|rest| rest.contains(&thrice));
    let open = if triple { 3 } else { 1 };
    let inside = code.get(open..)?;
    let mut text = String::new();
    let mut characters = inside.char_indices();
    loop {
        let (at, character) = characters.next()?;
        let left = inside.get(at..)?;
        if character == '\\' {
            let (_, escaped) = characters.next()?;
            text.push(match escaped {
                'n' => '\n',
                't' => '\t',
                other => other,
            });
        } else if character == quote && (!triple || left.starts_with(&thrice)) {
            return Some((text, left.get(open..).unwrap_or("")));
        } else {
            text.push(character);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Language, commands};

    #[test]
    fn calls_that_start_a_process_are_found_in_any_language() {
        for (code, found) in [
            ("import os; os.system(\"sudo id\")", "sudo id"),
            ("subprocess.run(['sudo', 'id'])", "'sudo' 'id'"),
            ("subprocess.check_output(\n  [\"rm\", \"-rf\", \"/\"],\n  shell=False)", "'rm' '-rf' '/'"),
            ("require('child_process').execSync('sudo id')", "sudo id"),
            ("system \"sudo\", \"id\"", "'sudo' 'id'"),
            ("os.system(f'sudo {x}')", "sudo {x}"),
            ("os.system('''sudo id''')", "sudo id"),
            ("system(\"echo \\\"a\\\"\")", "echo \"a\""),
            ("os.execute('sudo id')", "sudo id"),
            ("(shell-command \"sudo id\")", "sudo id"),
            ("print `sudo id`", "sudo id"),
            ("%x(a); qx{sudo id}", "sudo id"),
            ("%x(sudo id)", "sudo id"),
        ] {
            assert_eq!(
                commands(code, Language::of("perl")).last().map(String::as_str),
                Some(found),
                "{code}"
            );
        }
        assert_eq!(commands("spawn sudo id\nexpect x", Language::of("expect")), ["sudo id"]);
        for code in
            ["print('sudo id')", "x = `sudo id`", "systems('sudo id')", "# nothing", "def run(self): x"]
        {
            assert!(commands(code, Language::of("python3")).is_empty(), "{code}");
        }
    }

    #[test]
    fn broken_code_ends() {
        for code in ["system('", "system(\"\\", "`", "'''", "system('''a", "é system 'é'"] {
            assert!(commands(code, Language::of("perl")).len() < 3, "{code}");
        }
    }
}
