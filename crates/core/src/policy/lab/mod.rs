//! The policy lab: what a policy says, tried out before it is in force.
//!
//! Examples held against their rules, tables of expectations, the difference of two policies. Everything here asks
//! the same judgement that calls get; nothing here takes part in an answer, and nothing changes a policy.

mod cases;
mod cells;
mod difference;
mod examples;
mod witness;

pub use cases::{Case, cases_at, read_cases};
pub use cells::{Answer, CellChange, Direction, Seen, Where};
pub use difference::{Difference, RuleChange, SettingChange};
pub use examples::ExampleResult;
pub(super) use examples::{Held, hold};
