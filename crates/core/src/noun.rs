//! Numbers with their nouns, as every text says them: `1 session`, `2 sessions`.
//!
//! The one place that knows when a noun is plural. It words numbers and decides nothing.

use std::fmt::Display;

/// The form of a noun that goes with a number.
pub fn form<'n, N: PartialEq + From<u8>>(number: &N, one: &'n str, many: &'n str) -> &'n str {
    if *number == N::from(1) { one } else { many }
}

/// A number with its noun.
pub fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, one: &str, many: &str) -> String {
    format!("{number} {}", form(&number, one, many))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_alone_is_singular() {
        let told: Vec<String> = [0_u64, 1, 2, 11].map(|n| count(n, "entry", "entries")).into();
        assert_eq!(told, ["0 entries", "1 entry", "2 entries", "11 entries"]);
        assert_eq!((count(1_usize, "a", "b"), form(&21_u32, "a", "b")), ("1 a".to_owned(), "b"));
    }
}
