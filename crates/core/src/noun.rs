//! Numbers with their nouns, as every text says them: `1 session`, `2 sessions`; and lists that name a few and count the
//! rest.
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

/// Names that a remark lists; the rest is counted.
const LISTED: usize = 5;

/// The first few of some names, and how many more there are.
pub fn listed<D: Display>(names: impl ExactSizeIterator<Item = D>) -> String {
    let more = names.len().saturating_sub(LISTED);
    let first: Vec<String> = names.take(LISTED).map(|name| name.to_string()).collect();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("{}{more}", first.join(", "))
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

    #[test]
    fn a_few_are_named_and_the_rest_is_counted() {
        let of = |count: u8| listed((0..count).collect::<Vec<_>>().iter());
        assert_eq!([of(0), of(1), of(5)], ["", "0", "0, 1, 2, 3, 4"]);
        assert_eq!(of(7), "0, 1, 2, 3, 4 and 2 more");
    }
}
