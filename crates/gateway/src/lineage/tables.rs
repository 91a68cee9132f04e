//! Records and links as CSV (RFC 4180), for who works with tables.
//!
//! A text that a spreadsheet would take for a formula is led by an apostrophe.

use enclos_core::lineage::LineageId;
use enclos_protocol::lineage::{Answer, Item};

/// The records, one a line.
pub(super) fn records(answer: &Answer, withheld: &[LineageId]) -> String {
    let mut out = String::from(
        "lineage_id,kind,level,provenance,reason,source_type,source_name,record_id,accessed_at,accessed_by,\
         access_method,transformation,agent_id,downgrade_rule,content_hash\r\n",
    );
    for item in &answer.records {
        out.push_str(&line(&of(item)));
    }
    for id in withheld {
        out.push_str(&line(&[id.to_string(), "withheld".to_owned()]));
    }
    out
}

fn of(item: &Item) -> Vec<String> {
    let (record, origin) = (&item.record, &item.record.origin);
    let class = &record.classification;
    let made = record.transformations.first();
    vec![
        record.lineage_id.to_string(),
        item.kind.as_str().to_owned(),
        class.level.as_str().to_owned(),
        class.provenance.as_str().to_owned(),
        class.reason.clone(),
        origin.source_type.as_str().to_owned(),
        origin.source_name.clone(),
        origin.record_id.clone().unwrap_or_default(),
        origin.accessed_at.to_string(),
        origin.accessed_by.clone(),
        origin.access_method.clone(),
        made.map(|made| made.kind.clone()).unwrap_or_default(),
        made.map(|made| made.agent_id.clone()).unwrap_or_default(),
        item.downgrade_rule.as_ref().map(|rule| rule.as_str().to_owned()).unwrap_or_default(),
        record.content_hash.as_str().to_owned(),
    ]
}

/// The links, one a line.
pub(super) fn links(answer: &Answer) -> String {
    let mut out = String::from("made,of,confidence\r\n");
    for link in &answer.links {
        let fields = [link.to.to_string(), link.from.to_string(), link.confidence.as_str().to_owned()];
        out.push_str(&line(&fields));
    }
    out
}

fn line(fields: &[String]) -> String {
    let quoted: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
    format!("{}\r\n", quoted.join(","))
}

fn quoted(field: &str) -> String {
    let guarded = if field.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    if guarded.is_empty() && !field.contains([',', '"', '\n', '\r']) {
        return field.to_owned();
    }
    format!("\"{guarded}{}\"", field.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn fields_are_quoted_and_formulas_are_texts() {
        assert_eq!(quoted("a b"), "a b");
        assert_eq!(quoted("a,\"b\"\n"), "\"a,\"\"b\"\"\n\"");
        assert_eq!(quoted("=cmd()"), "\"'=cmd()\"");
    }
}
