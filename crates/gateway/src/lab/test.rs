//! Examples and tables of expectations, held against a policy.

use enclos_core::policy::{Case, MAX_BYTES, Policy, read_cases};
use enclos_protocol::error::ApiError;
use enclos_protocol::lab::{CaseResult, TestReport};

use super::{Side, usage};
use crate::explain::{self, Who};
use crate::policies::{read, refusal};

/// The end of a name of a table of expectations.
const TABLE: &str = ".cases.toml";

/// The words that name tables, and those that name the policy.
pub(crate) fn apart(words: &[String]) -> (Vec<String>, Vec<String>) {
    words.iter().cloned().partition(|word| word.ends_with(TABLE))
}

/// Holds a policy against its own examples and against tables.
///
/// # Errors
/// A table that cannot be read or is not understood whole.
pub(crate) fn test(side: Side, tables: &[String]) -> Result<TestReport, ApiError> {
    let Side { policy, sources, .. } = side;
    let mut cases = Vec::new();
    for table in tables {
        let text = read(table.as_ref(), MAX_BYTES)?;
        let text = text.ok_or_else(|| usage(format!("the table `{table}` does not exist")))?;
        let rows = read_cases(table, &text).map_err(|error| refusal(&error))?;
        cases.extend(rows.iter().map(|case| result(&policy, case)));
    }
    let examples = policy.examples_held();
    let collisions: Vec<String> = policy.collisions().iter().map(ToString::to_string).collect();
    let passed = examples.iter().filter(|example| example.passed).count()
        + cases.iter().filter(|case| case.passed).count();
    let failed = examples.len() + cases.len() - passed + collisions.len();
    Ok(TestReport {
        sources,
        policy_digest: policy.digest().as_str().to_owned(),
        examples,
        cases,
        collisions,
        passed: passed as u64,
        failed: failed as u64,
    })
}

fn result(policy: &Policy, case: &Case) -> CaseResult {
    let decision = policy.judge_case(case);
    let passed = case.passed(&decision);
    let who = Who { role: case.role, surface: case.surface };
    CaseResult {
        source: case.source.clone(),
        line: case.line as u64,
        tool: case.tool.clone(),
        args: case.args.clone(),
        role: case.role,
        surface: case.surface,
        wanted: case.verdict,
        wanted_rule: case.rule.clone(),
        got: decision.verdict,
        got_rule: decision.rule.clone(),
        passed,
        explanation: (!passed).then(|| explain::explanation(policy, decision, who)),
    }
}
