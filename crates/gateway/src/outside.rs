//! The calls of another agent, under the policy of this gateway.
//!
//! The catalogue is read once; the policy that is written here, or named on the command line, is read again at each call, so
//! that a change is in force at the next. It can only harden what the labels say, and one that cannot be read blocks.

use std::cell::RefCell;
use std::path::Path;

use enclos_core::args::{self, Args, Schema};
use enclos_core::outside::{Catalogue, Floor, Guard, Policy, Quarantine, ToolClass};
use enclos_core::policy::Tool;
use enclos_core::verdict::Verdict;
use enclos_protocol::api::OutsideRequest;
use enclos_protocol::error::{ApiError, Fault, Place};
use serde_json::{Map, Value, json};

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
            let sources = RefCell::new(sources);
            Box::new(move |tool, class, args| Some(floor(&sources, tool, class, args)))
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

/// What the policy says of a call, as it is written now.
fn floor(sources: &RefCell<Sources>, tool: &str, class: &ToolClass, args: &Map<String, Value>) -> Floor {
    let failed =
        |reason: String| Floor { verdict: Verdict::Disabled, rule: "evaluation.failed".to_owned(), reason };
    let Ok(mut sources) = sources.try_borrow_mut() else {
        return failed("the policy is being read".to_owned());
    };
    sources.read_again();
    let policy = match sources.load_standing() {
        Ok(policy) => policy,
        Err(error) => return failed(error.message),
    };
    let args = match arguments(args) {
        Ok(args) => args,
        Err(why) => return failed(why),
    };
    let classed = Tool::classed(tool, class.category(), class.egress);
    let decision = session::verdict_of_classed(&policy, &classed, &args);
    Floor { verdict: decision.verdict, rule: decision.rule.as_str().to_owned(), reason: decision.reason }
}

fn arguments(args: &Map<String, Value>) -> Result<Args, String> {
    let schema = Schema::new(&json!({"type": "object", "additionalProperties": true}))
        .map_err(|error| error.to_string())?;
    let text = Value::Object(args.clone()).to_string();
    args::parse(&text).and_then(|parsed| args::validate(parsed, &schema)).map_err(|error| error.to_string())
}
