//! A changed policy in a session at work: taken before every step and once more before anything starts.
//!
//! The texts are read and compared whole, so that no change is missed, whatever stamps a file bears. A change is taken
//! once two readings agree: a file that is still being written is no policy. What can no longer be read leaves no tool
//! at all, until it can. The verdicts, the tools that the model is shown, who is asked and for how long follow at once;
//! budgets, ceilings and mounts are those of the opening until the session is taken up again.

use std::time::Duration;

use enclos_core::policy::{Caller, Layer, Policy, Scope, Tool as PolicyTool};
use enclos_protocol::error::ApiError;
use enclos_store::Store;
use serde_json::json;

use super::entry::facts;
use super::open::on_ask;
use super::{Halt, Live};
use crate::policies::{self, Sources};

/// Between two readings that have to agree.
const PAUSE: Duration = Duration::from_millis(20);

/// Readings until a text that changes all the time is taken as it is.
const READINGS: u32 = 25;

/// Where the policy of a session comes from.
pub(super) struct Rules {
    sources: Sources,
    store: Store,
    /// Whether the last loading failed, and is to be tried again.
    failed: bool,
}

impl Rules {
    pub(super) fn new(sources: Sources, store: Store) -> Self {
        Self { sources, store, failed: false }
    }

    /// Whether something is to be loaded. Waits until two readings agree.
    async fn moved(&mut self) -> bool {
        if !self.sources.read_again() {
            return self.failed;
        }
        for _ in 0..READINGS {
            tokio::time::sleep(PAUSE).await;
            if !self.sources.read_again() {
                break;
            }
        }
        true
    }

    /// Loads what was read, once it is a version.
    fn load(&self, now_us: i64) -> Result<Policy, ApiError> {
        policies::settle(&self.store, self.sources.places(), self.sources.line(), now_us)?;
        self.sources.load_standing()
    }
}

impl Live {
    /// Takes the policy as it is now. True when it is another than before.
    pub(super) async fn take_policy(&mut self) -> Result<bool, Halt> {
        if !self.rules.moved().await {
            return Ok(false);
        }
        let (policy, why) = match self.rules.load(self.clock.now_us()) {
            Ok(policy) => (policy, None),
            Err(error) => (closed(&error.message)?, Some(error.message)),
        };
        self.rules.failed = why.is_some();
        if policy.digest() == self.policy.digest() {
            return Ok(false);
        }
        let new = policy.digest().clone();
        let facts = facts([
            ("previous", json!(self.policy.digest())),
            ("policy", json!(new)),
            ("sources", json!(self.rules.sources.described())),
            ("closed", json!(why)),
        ]);
        self.remark("policy.loaded", facts).await?;
        let gone = self.obey(policy);
        self.teller.notice(match why {
            Some(why) => format!("the policy cannot be loaded, so no tool is available until it can: {why}"),
            None if gone.is_empty() => format!("the policy changed: {new}"),
            None => format!("the policy changed: {new}; no longer available: {}", gone.join(", ")),
        });
        Ok(true)
    }

    /// Puts a policy in force. Gives the tools that are hidden from now on.
    fn obey(&mut self, policy: Policy) -> Vec<String> {
        self.on_ask = on_ask(self.answering, &policy);
        let mut gone = Vec::new();
        for tool in &mut self.tools {
            let named = PolicyTool::named(&tool.spec.name);
            let visible = policy.visible(&Caller { tool: &named, role: self.role, surface: self.surface });
            if tool.visible && !visible {
                gone.push(tool.spec.name.clone());
            }
            tool.visible = visible;
        }
        self.policy = policy;
        gone
    }
}

/// The policy that holds while none can be loaded: no tool at all, and the reason with it.
fn closed(why: &str) -> Result<Policy, Halt> {
    let reason = toml::Value::String(format!("the policy cannot be loaded: {why}"));
    let text = format!(
        "name = \"closed\"\n[[rule]]\nid = \"policy.closed\"\ntool = \"*\"\nverdict = \"disabled\"\nreason = {reason}\n"
    );
    let layer = Layer { scope: Scope::Instance, source: "policy".to_owned(), text: &text };
    Policy::load(&[layer]).map_err(|error| Halt::Policy(error.to_string()))
}

#[cfg(test)]
mod tests {
    use enclos_core::policy::{Role, Surface};

    use super::*;

    #[test]
    fn without_a_policy_there_is_no_tool_whatever_the_reason_says() {
        let policy = closed("`a`\n\"\"\"[[rule]]\u{1b}'''").unwrap();
        let names = ["read", "write", "delete", "bash", "todo", "delegate", "server/tool", "unheard-of"];
        for name in names {
            let tool = PolicyTool::named(name);
            for surface in Surface::ALL {
                for role in Role::ALL {
                    assert!(!policy.visible(&Caller { tool: &tool, role, surface }), "{name}");
                }
            }
        }
    }
}
