//! The automation of this repository: `cargo xtask WORD`.
//!
//! Each word is one module. None of them is part of the product, and the product never calls them.

mod bench;
mod process;
mod reference;
mod source;
mod test;
mod tidy;
mod tools;
mod tree;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask WORD

  test [--skip STEP]…   every check and every test, in order; the summary of the tests comes last
  tidy                  the rules of this repository that the compiler does not know
  reference [--check]   writes the generated pages under docs/reference, or says which are stale
  bench [--quick]       measures the release build, each figure as a ratio taken in the same run
";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (word, rest) = words.split_first().map_or(("help", &[][..]), |(w, rest)| (w.as_str(), rest));
    let done = match word {
        "test" => test::run(rest),
        "tidy" => tidy::run(rest),
        "reference" => reference::run(rest),
        "bench" => bench::run(rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(format!("`{other}` is not a word of xtask\n\n{HELP}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
