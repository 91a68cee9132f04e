//! Records as W3C PROV-JSON: entities, the activities that made them, and the agents behind these.
//!
//! A withheld record is an entity with its digest and nothing else, so that what was made of it still stands.

use enclos_core::lineage::{LineageId, Record};
use enclos_protocol::lineage::{Answer, Item, Link};
use serde_json::{Map, Value, json};

/// Our names in the document.
const SPACE: &str = "https://enclos.invalid/ns/lineage#";

/// The document.
pub(super) fn document(answer: &Answer, withheld: &[LineageId]) -> Value {
    let mut out = Document::default();
    for item in &answer.records {
        out.record(item);
    }
    for id in withheld {
        out.entity.insert(entity(id), json!({"prov:type": "enclos:withheld"}));
    }
    for link in &answer.links {
        out.link(link);
    }
    json!({
        "prefix": {"enclos": SPACE},
        "entity": out.entity,
        "activity": out.activity,
        "agent": out.agent,
        "wasGeneratedBy": out.generated,
        "used": out.used,
        "wasDerivedFrom": out.derived,
        "wasAssociatedWith": out.associated,
        "wasAttributedTo": out.attributed,
    })
}

#[derive(Default)]
struct Document {
    entity: Map<String, Value>,
    activity: Map<String, Value>,
    agent: Map<String, Value>,
    generated: Map<String, Value>,
    used: Map<String, Value>,
    derived: Map<String, Value>,
    associated: Map<String, Value>,
    attributed: Map<String, Value>,
}

fn entity(id: &LineageId) -> String {
    format!("enclos:{id}")
}

fn activity(id: &LineageId) -> String {
    format!("enclos:act_{}", id.to_string().trim_start_matches("lin_"))
}

/// An agent's name in the document: its bytes in hexadecimal digits are a name whatever it is.
fn agent(name: &str) -> String {
    use std::fmt::Write as _;
    let mut text = "enclos:agent_".to_owned();
    for byte in name.bytes() {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn next(map: &Map<String, Value>) -> String {
    format!("_:{}", map.len())
}

impl Document {
    fn record(&mut self, item: &Item) {
        let record: &Record = &item.record;
        let (origin, class) = (&record.origin, &record.classification);
        self.entity.insert(
            entity(&record.lineage_id),
            json!({
                "prov:type": format!("enclos:{}", item.kind.as_str()),
                "enclos:content_hash": record.content_hash,
                "enclos:source_type": origin.source_type,
                "enclos:source_name": origin.source_name,
                "enclos:accessed_at": origin.accessed_at,
                "enclos:level": class.level,
                "enclos:provenance": class.provenance,
                "enclos:reason": class.reason,
            }),
        );
        self.agent(&origin.accessed_by, "prov:Person");
        let of = json!({"prov:entity": entity(&record.lineage_id), "prov:agent": agent(&origin.accessed_by)});
        self.attributed.insert(format!("_:at{}", self.attributed.len()), of);
        for made in &record.transformations {
            let act = activity(&record.lineage_id);
            let told = json!({
                "prov:type": format!("enclos:{}", made.kind),
                "prov:label": made.description,
                "prov:startTime": made.timestamp,
                "prov:endTime": made.timestamp,
            });
            self.activity.insert(act.clone(), told);
            let by = json!({"prov:entity": entity(&record.lineage_id), "prov:activity": act});
            self.generated.insert(format!("{}g", next(&self.generated)), by);
            self.agent(&made.agent_id, "prov:SoftwareAgent");
            let with = json!({"prov:activity": act, "prov:agent": agent(&made.agent_id)});
            self.associated.insert(format!("{}w", next(&self.associated)), with);
        }
    }

    fn agent(&mut self, name: &str, kind: &str) {
        let told = json!({"prov:type": kind, "prov:label": name});
        self.agent.entry(agent(name)).or_insert(told);
    }

    fn link(&mut self, link: &Link) {
        let used = json!({"prov:activity": activity(&link.to), "prov:entity": entity(&link.from)});
        self.used.insert(format!("{}u", next(&self.used)), used);
        let derived = json!({
            "prov:generatedEntity": entity(&link.to),
            "prov:usedEntity": entity(&link.from),
            "prov:activity": activity(&link.to),
            "enclos:confidence": link.confidence,
        });
        self.derived.insert(format!("{}d", next(&self.derived)), derived);
    }
}
