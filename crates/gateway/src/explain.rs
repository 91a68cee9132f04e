//! Saying why: a policy checked, a call explained, a command read.

use std::path::PathBuf;

use enclos_core::args::{self, Args, Schema};
use enclos_core::command::Reading;
use enclos_core::policy::{Decision, Layer, Policy, Preset, Role, Scope, Surface, Tool};
use enclos_core::verdict::Verdict;
use enclos_protocol::api::{CommandQuestion, ExplainRequest};
use enclos_protocol::error::{ApiError, Fault, Place};
use enclos_protocol::report::{
    Approve, CommandExplanation, Considered, Explanation, FileDigest, Judged, PolicyReport,
};
use enclos_store::policy_digest;

use crate::policies;
use crate::session::{self, Question};

fn usage(message: impl Into<String>) -> ApiError {
    ApiError::new(Fault::Usage, message)
}

/// One of the words that a setting takes.
fn word<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> Result<T, ApiError> {
    serde_json::from_value(serde_json::Value::String(text.to_owned()))
        .map_err(|error| usage(format!("{name} is `{text}`: {error}")).at(Place::field(name)))
}

/// Reads policy files, each as a policy of its own, with their examples.
pub(crate) fn check(files: &[PathBuf]) -> Result<PolicyReport, ApiError> {
    let mut texts = Vec::new();
    for file in files {
        let text = policies::named(file)?;
        let own = file.file_name().is_some_and(|name| name == ".enclos.toml");
        texts.push((if own { Scope::Repository } else { Scope::Instance }, file.display().to_string(), text));
    }
    let layers: Vec<Layer<'_>> = texts
        .iter()
        .map(|(scope, source, text)| Layer { scope: *scope, source: source.clone(), text })
        .collect();
    let policy = Policy::load(&layers).map_err(|error| policies::refusal(&error))?;
    let notes = policy.overruled().iter().map(|rule| {
        format!("the rule {} counts no more: {} of the {} is stricter", rule.rule, rule.by, rule.by_scope)
    });
    let files = texts.iter().map(|(_, source, text)| FileDigest {
        file: source.clone(),
        digest: policy_digest(text).as_str().to_owned(),
    });
    Ok(PolicyReport {
        sources: sources(&texts),
        rules: policy.layers().iter().map(|layer| layer.rules as u64).sum(),
        examples: policy.examples() as u64,
        digest: policy.digest().as_str().to_owned(),
        files: files.collect(),
        notes: notes.collect(),
    })
}

/// For whom a call is judged, and how their session is driven.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Who {
    pub role: Role,
    pub surface: Surface,
}

impl Who {
    /// Reads what was asked. Else it is the person of a session at a terminal of one's own gateway, where they are
    /// owner of every project.
    fn read(role: Option<&str>, surface: Option<&str>) -> Result<Self, ApiError> {
        let role = role.map_or(Ok(Role::Owner), |role| word("--role", role))?;
        let surface = surface.map_or(Ok(Surface::Terminal), |surface| word("--surface", surface))?;
        Ok(Self { role, surface })
    }
}

/// Says why a call gets its verdict.
pub(crate) fn call(policy: &Policy, request: &ExplainRequest) -> Result<Explanation, ApiError> {
    let tool = request.tool.as_str();
    if tool.trim().is_empty() {
        let known: Vec<&str> = Tool::built_in().collect();
        return Err(usage("`--tool` is empty: expected the name of a tool")
            .hint(format!("one of {}, or `SERVER/TOOL` of a server", known.join(", "))));
    }
    let who = Who::read(request.role.as_deref(), request.surface.as_deref())?;
    let decision = match &request.args {
        None => session::verdict_of_tool(policy, tool, who.role, who.surface),
        Some(text) => {
            let args = in_part(tool, text)
                .map_err(|error| usage(format!("--args: {error}")).at(Place::field("--args")))?;
            let question = Question { tool, args: &args, role: who.role, surface: who.surface };
            session::verdict_of_part(policy, question)
        }
    };
    let mut told = explanation(policy, decision, who);
    told.notes.extend(unknown(tool));
    Ok(told)
}

/// The schema of arguments whose tool is not known here.
pub(crate) fn any_object() -> serde_json::Value {
    serde_json::json!({"type": "object", "additionalProperties": true})
}

/// Arguments that a person wrote in part. What is not there is not asked for; what is there has to fit.
fn in_part(tool: &str, text: &str) -> Result<Args, String> {
    let known = enclos_core::tool::built_in().into_iter().find(|spec| spec.name == tool);
    let any = any_object();
    let schema = Schema::of_part(known.as_ref().map_or(&any, |spec| &spec.schema));
    let schema = schema.map_err(|error| error.to_string())?;
    args::parse(text).and_then(|parsed| args::validate(parsed, &schema)).map_err(|error| error.to_string())
}

/// That a tool is none of Enclos, and what that means for its verdict.
fn unknown(name: &str) -> Option<String> {
    let tool = Tool::named(name);
    let what = match (tool.is_known(), tool.server()) {
        (true, _) => return None,
        (false, Some(_)) => format!("`{name}` is of a server"),
        (false, None) => format!("there is no tool `{name}`"),
    };
    let listed = || {
        let known: Vec<&str> = Tool::built_in().collect();
        format!("; the tools of Enclos are {}, those of a server are named `SERVER/TOOL`", known.join(", "))
    };
    let near = Tool::near(name).map(|near| format!("; did you mean `{near}`?"));
    let meant = near.unwrap_or_else(|| if tool.server().is_none() { listed() } else { String::new() });
    Some(format!(
        "{what}{meant} (judged as a tool that nobody classed: one that deletes and carries data out)"
    ))
}

/// Reads a command as the policy's `bash` would be judged.
pub(crate) fn command(
    policy: &Policy,
    question: &CommandQuestion,
    text: &str,
) -> Result<CommandExplanation, ApiError> {
    let who = Who::read(question.role.as_deref(), question.surface.as_deref())?;
    let spec = enclos_core::tool::built_in().into_iter().find(|spec| spec.name == "bash");
    let spec = spec.ok_or_else(|| usage("there is no tool `bash`"))?;
    let schema = Schema::new(&spec.schema).map_err(|error| usage(error.to_string()))?;
    let text = serde_json::json!({ "command": text }).to_string();
    let args = args::parse(&text)
        .and_then(|parsed| args::validate(parsed, &schema))
        .map_err(|error| usage(error.to_string()))?;
    let asked = Question { tool: "bash", args: &args, role: who.role, surface: who.surface };
    let told = explanation(policy, session::verdict(policy, asked), who);
    Ok(CommandExplanation {
        reading: Reading::of_pieces(told.verdict, told.pieces),
        judged: Some(Judged {
            rule: told.rule,
            scope: told.scope,
            reason: told.reason,
            role: told.role,
            surface: told.surface,
            approve: told.approve,
            shadow: told.shadow,
            policy_digest: told.policy_digest,
        }),
    })
}

/// The files, with what each of them stands for: the highest scope first.
fn sources(texts: &[(Scope, String, String)]) -> Vec<String> {
    let saved = texts.iter().filter(|(scope, ..)| *scope != Scope::Repository).count();
    let mut number = 0;
    let told = |(scope, source, _): &(Scope, String, String)| match scope {
        Scope::Repository => format!("{scope}: {source}"),
        _ if saved < 2 => format!("{scope}: {source}"),
        _ => {
            number += 1;
            format!("scope {number} of {saved}, from the highest: {source}")
        }
    };
    texts.iter().map(told).collect()
}

/// The scope of a rule and where it is written. A preset is no file: it stands for the policy of the scope.
fn of_scope(scope: Scope, source: &str) -> String {
    let preset = source.strip_prefix("preset ").filter(|name| name.parse::<Preset>().is_ok());
    preset
        .map_or_else(|| format!("{scope} ({source})"), |_| format!("{source}, as the policy of the {scope}"))
}

/// A decision with its reasons, as it is told.
pub(crate) fn explanation(policy: &Policy, decision: Decision, who: Who) -> Explanation {
    let considered = decision.considered.iter().map(|rule| Considered {
        rule: rule.rule.as_str().to_owned(),
        scope: of_scope(rule.scope, &rule.source),
        verdict: rule.verdict,
        why: rule.why.as_str().to_owned(),
    });
    let approve = (decision.verdict == Verdict::Ask).then_some(Approve {
        role: decision.approvers,
        quorum: decision.quorum,
        person: decision.person,
        remember: decision.remember,
    });
    Explanation {
        verdict: decision.verdict,
        rule: decision.rule.as_str().to_owned(),
        scope: of_scope(decision.scope, &decision.source),
        considered: considered.collect(),
        shadow: decision.shadow,
        reason: decision.reason,
        role: who.role,
        surface: who.surface,
        approve,
        pieces: decision.pieces,
        notes: Vec::new(),
        policy_digest: policy.digest().as_str().to_owned(),
    }
}
