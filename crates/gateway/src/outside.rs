//! The calls of another agent, under the policy of this gateway.
//!
//! The catalogue is read once; the policy that is written here, or named on the command line, is read again at each call, so
//! that a change is in force at the next. It can only harden what the labels say, and one that cannot be read blocks.

use std::cell::RefCell;
use std::path::Path;

use enclos_core::args::{self, Schema};
use enclos_core::outside::{Catalogue, Floor, Guard, Policy, Quarantine, ToolClass};
use enclos_core::policy::{Policy as Written, Tool};
use enclos_core::verdict::Verdict;
use enclos_protocol::api::OutsideRequest;
use enclos_protocol::error::{ApiError, Fault, Place};
use serde_json::{Map, Value};

use crate::explain::any_object;
use crate::policies::Sources;
use crate::session;

/// Bytes of a catalogue, at most.
const MOST: u64 = 4 << 20;

/// A guard for what was asked. `sources`: the policy, where one is written.
pub(crate) fn guard(request: &OutsideRequest, sources: Option<Sources>) -> Result<Guard, ApiError> {
    let catalogue = request.catalogue.as_deref().map_or(Ok(Catalogue::default()), read)?;
    let quarantine = if request.without_quarantine { Quarantine::Off } else { Quarantine::On };
    let policy: Policy = match sources {
        None => Box::new(|_, _, _| None),
        Some(sources) => {
            let standing = RefCell::new(Standing::of(sources)?);
            Box::new(move |tool, class, args| Some(floor(&standing, tool, class, args)))
        }
    };
    Ok(Guard::new(catalogue, quarantine, Vec::new(), policy))
}

fn read(file: &Path) -> Result<Catalogue, ApiError> {
    let usage = |why: String| {
        ApiError::new(Fault::Usage, format!("the catalogue `{}`: {why}", file.display()))
            .at(Place::field("--catalogue"))
    };
    let size = std::fs::metadata(file).map_err(|error| usage(error.to_string()))?.len();
    if size > MOST {
        return Err(usage(format!("it has {size} bytes, and {MOST} are read at most")));
    }
    let text = std::fs::read_to_string(file).map_err(|error| usage(error.to_string()))?;
    Catalogue::read(&text).map_err(|error| {
        usage(error.to_string()).hint(
            "a tool: {\"category\": \"read|write|delete\", \"egress\": …, \"destination_args\": […], \
             \"tool_reads\": LEVEL, \"tool_sink\": LEVEL, \"tool_untrusted\": …}",
        )
    })
}

/// The policy as it was read last. It is loaded anew only when its texts changed.
struct Standing {
    sources: Sources,
    policy: Result<Written, ApiError>,
    /// Of arguments whose tool is not known here.
    schema: Schema,
}

impl Standing {
    fn of(sources: Sources) -> Result<Self, ApiError> {
        let schema =
            Schema::new(&any_object()).map_err(|error| ApiError::new(Fault::Internal, error.to_string()))?;
        Ok(Self { policy: sources.load_standing(), sources, schema })
    }

    fn decides(&mut self, tool: &Tool<'_>, args: &Map<String, Value>) -> Result<Floor, String> {
        if self.sources.read_again() {
            self.policy = self.sources.load_standing();
        }
        let policy = self.policy.as_ref().map_err(|error| error.message.clone())?;
        let text = Value::Object(args.clone()).to_string();
        let args = args::parse(&text).and_then(|parsed| args::validate(parsed, &self.schema));
        let args = args.map_err(|error| error.to_string())?;
        let decision = session::verdict_of_classed(policy, tool, &args);
        Ok(Floor {
            verdict: decision.verdict,
            rule: decision.rule.as_str().to_owned(),
            reason: decision.reason,
        })
    }
}

/// What the policy says of a call, as it is written now. What cannot be evaluated blocks.
fn floor(standing: &RefCell<Standing>, tool: &str, class: &ToolClass, args: &Map<String, Value>) -> Floor {
    let classed = Tool::classed(tool, class.category(), class.egress);
    let decided = standing
        .try_borrow_mut()
        .map_err(|_| "the policy is being read".to_owned())
        .and_then(|mut standing| standing.decides(&classed, args));
    decided.unwrap_or_else(|reason| Floor {
        verdict: Verdict::Disabled,
        rule: "evaluation.failed".to_owned(),
        reason,
    })
}
