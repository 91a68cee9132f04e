//! Saying why: a policy checked, a call explained, a command read.

use std::path::PathBuf;

use enclos_core::args::{self, Schema};
use enclos_core::command::Reading;
use enclos_core::policy::{Decision, Layer, MAX_BYTES, Policy, Role, Scope, Surface};
use enclos_protocol::error::{ApiError, Fault};
use enclos_protocol::report::{Considered, Explanation, PolicyReport};

use crate::session::{self, Question};

fn usage(message: impl Into<String>) -> ApiError {
    ApiError::new(Fault::Usage, message)
}

/// One of the words that a setting takes.
fn word<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> Result<T, ApiError> {
    serde_json::from_value(serde_json::Value::String(text.to_owned()))
        .map_err(|error| usage(format!("{name} is `{text}`: {error}")))
}

/// Reads policy files, each as a policy of its own, with their examples.
pub(crate) fn check(files: &[PathBuf]) -> Result<PolicyReport, ApiError> {
    let mut texts = Vec::new();
    for file in files {
        let missing = || usage(format!("the policy file `{}` does not exist", file.display()));
        let text = crate::policies::read(file, MAX_BYTES)?.ok_or_else(missing)?;
        let own = file.file_name().is_some_and(|name| name == ".enclos.toml");
        texts.push((if own { Scope::Repository } else { Scope::Project }, file.display().to_string(), text));
    }
    let layers: Vec<Layer<'_>> = texts
        .iter()
        .map(|(scope, source, text)| Layer { scope: *scope, source: source.clone(), text })
        .collect();
    let policy = Policy::load(&layers).map_err(|error| usage(error.to_string()))?;
    let notes = policy.overruled().iter().map(|rule| {
        format!("the rule {} counts no more: {} of the {} is stricter", rule.rule, rule.by, rule.by_scope)
    });
    Ok(PolicyReport {
        sources: texts.iter().map(|(scope, source, _)| format!("{scope}: {source}")).collect(),
        rules: policy.layers().iter().map(|layer| layer.rules as u64).sum(),
        examples: policy.examples() as u64,
        digest: policy.digest().as_str().to_owned(),
        notes: notes.collect(),
    })
}

/// Says why a call gets its verdict.
pub(crate) fn call(
    policy: &Policy,
    request: &enclos_protocol::api::ExplainRequest,
) -> Result<Explanation, ApiError> {
    let role: Role = word("--role", request.role.as_deref().unwrap_or("developer"))?;
    let surface: Surface = word("--surface", request.surface.as_deref().unwrap_or("terminal"))?;
    let decision = match &request.args {
        None => session::verdict_of_tool(policy, &request.tool, role, surface),
        Some(text) => {
            let parsed = args::parse(text).map_err(|error| usage(format!("--args: {error}")))?;
            let known = enclos_core::tool::built_in().into_iter().find(|spec| spec.name == request.tool);
            let any = serde_json::json!({"type": "object", "additionalProperties": true});
            let schema = Schema::new(known.as_ref().map_or(&any, |spec| &spec.schema))
                .map_err(|error| usage(error.to_string()))?;
            let args = args::validate(parsed, &schema).map_err(|error| usage(format!("--args: {error}")))?;
            session::verdict(policy, Question { tool: &request.tool, args: &args, role, surface })
        }
    };
    Ok(explanation(policy, decision))
}

/// Reads a command as the policy's `bash` would be judged.
pub(crate) fn command(policy: &Policy, text: &str) -> Result<Reading, ApiError> {
    let spec = enclos_core::tool::built_in().into_iter().find(|spec| spec.name == "bash");
    let spec = spec.ok_or_else(|| usage("there is no tool `bash`"))?;
    let schema = Schema::new(&spec.schema).map_err(|error| usage(error.to_string()))?;
    let text = serde_json::json!({ "command": text }).to_string();
    let args = args::parse(&text)
        .and_then(|parsed| args::validate(parsed, &schema))
        .map_err(|error| usage(error.to_string()))?;
    let question = Question { tool: "bash", args: &args, role: Role::Developer, surface: Surface::Terminal };
    let decision = session::verdict(policy, question);
    Ok(Reading { verdict: decision.verdict, unreadable: None, pieces: decision.pieces })
}

pub(crate) fn explanation(policy: &Policy, decision: Decision) -> Explanation {
    let considered = decision.considered.iter().map(|rule| Considered {
        rule: rule.rule.as_str().to_owned(),
        scope: format!("{} ({})", rule.scope, rule.source),
        verdict: rule.verdict,
        why: rule.why.as_str().to_owned(),
    });
    Explanation {
        verdict: decision.verdict,
        rule: decision.rule.as_str().to_owned(),
        scope: format!("{} ({})", decision.scope, decision.source),
        reason: decision.reason,
        considered: considered.collect(),
        pieces: decision.pieces,
        policy_digest: policy.digest().as_str().to_owned(),
    }
}
