//! A record as it is listed, exported and verified: the fields of the specification, by their names.
//!
//! It carries no content: names, a digest, a label and links. A time is written as RFC 3339 in UTC.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::LineageId;
use crate::ids::{Digest, SessionId};
use crate::label::{Label, Level, Provenance};

/// A time, in microseconds of the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub i64);

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match Timestamp::from_microsecond(self.0) {
            Ok(time) => write!(f, "{time:.6}"),
            Err(_) => write!(f, "@{}us", self.0),
        }
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time: Timestamp = text.parse().map_err(serde::de::Error::custom)?;
        Ok(Self(time.as_microsecond()))
    }
}

/// Defines an enum of words that are stored by number and told by word.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$note:meta])* $variant:ident = $number:literal $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$note])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Its word in reports and exports.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// Its number at rest, which never changes.
            pub const fn number(self) -> i64 {
                match self { $(Self::$variant => $number,)+ }
            }

            /// The one of this number.
            pub fn of_number(number: i64) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.number() == number)
            }
        }
    };
}

words! {
    /// What a record is.
    Kind {
        /// A message to the model.
        Prompt = 1 "prompt",
        /// Something from outside that raised what the session knows.
        ExternalInput = 2 "external_input",
        /// A file as a call left it.
        FileVersion = 3 "file_version",
        /// What a tool answered.
        ToolResult = 4 "tool_result",
        /// Everything that the model was shown at one time: the snapshot before, and what is new.
        ContextSnapshot = 5 "context_snapshot",
        /// What a model answered.
        LlmOutput = 6 "llm_output",
        /// A number that Enclos computed over records of a source.
        Aggregate = 7 "aggregate",
        /// One hunk of a change set, or a file that has none.
        DiffHunk = 8 "diff_hunk",
        /// A change set.
        Diff = 9 "diff",
        /// Something that left.
        MessageOut = 10 "message_out",
        /// Records that were exported.
        Export = 11 "export",
        /// A labelled note: memory, to-do, plan, summary.
        MemoryItem = 12 "memory_item",
    }
}

words! {
    /// What kind of source a record comes from.
    SourceType {
        /// A person of the directory.
        Person = 1 "person",
        /// A program that speaks in a person's place.
        Program = 2 "program",
        /// The project, known by opening it.
        Project = 3 "project",
        /// A file of the workspace.
        File = 4 "file",
        /// A command in the sandbox.
        Command = 5 "command",
        /// Another tool.
        Tool = 6 "tool",
        /// A model.
        Model = 7 "model",
        /// A session.
        Session = 8 "session",
        /// A destination.
        Destination = 9 "destination",
    }
}

/// Where a datum comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// What kind of source.
    pub source_type: SourceType,
    /// Its name: a path, a tool, a program, a person.
    pub source_name: String,
    /// The record in the source, where the source names one.
    pub record_id: Option<String>,
    /// What that record is in the source's own words; else what it is in ours.
    pub record_type: Option<String>,
    /// When it was read.
    pub accessed_at: Moment,
    /// For whom.
    pub accessed_by: String,
    /// How: the tool, or `prompt`, `model`, `policy`.
    pub access_method: String,
}

/// What a datum knows, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Classification {
    /// How far it may go.
    pub level: Level,
    /// Whether it may make the model act.
    pub provenance: Provenance,
    /// Why.
    pub reason: String,
    /// When that was said.
    pub assigned_at: Moment,
    /// Whether a written rule may make less of it.
    pub can_be_downgraded: bool,
}

impl Classification {
    /// Level and provenance.
    pub const fn label(&self) -> Label {
        Label::new(self.level, self.provenance)
    }
}

/// How a datum came of others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transformation {
    /// What was done, in one word.
    #[serde(rename = "type")]
    pub kind: String,
    /// The same in a sentence.
    pub description: String,
    /// When.
    pub timestamp: Moment,
    /// What it was made of.
    pub input_lineage_ids: Vec<LineageId>,
    /// Who or what did it.
    pub agent_id: String,
}

/// Where a datum is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Location {
    /// The session.
    pub session_id: SessionId,
    /// The entry of the session's journal that it came with.
    pub context_position: u64,
}

/// One record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Its name.
    pub lineage_id: LineageId,
    /// The digest of its content: `hmac-sha256:HEX` under the session's key.
    pub content_hash: Digest,
    /// Where it comes from.
    pub origin: Origin,
    /// What it knows.
    pub classification: Classification,
    /// How it came of others; empty for what was read from a source.
    pub transformations: Vec<Transformation>,
    /// Where it is; absent once it was archived.
    pub current_location: Option<Location>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_at_rest_are_distinct_and_come_back() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of_number(kind.number()), Some(*kind));
        }
        for source in SourceType::ALL {
            assert_eq!(SourceType::of_number(source.number()), Some(*source));
        }
        assert_eq!(Kind::of_number(0), None);
    }

    #[test]
    fn a_record_has_the_fields_of_the_specification_and_no_other() {
        let id = LineageId::parse("lin_a_2").unwrap();
        let moment = Moment(1_796_000_000_000_001);
        let record = Record {
            lineage_id: id.clone(),
            content_hash: Digest::new("sha256:00"),
            origin: Origin {
                source_type: SourceType::File,
                source_name: "src/lib.rs".into(),
                record_id: None,
                record_type: Some("tool_result".into()),
                accessed_at: moment,
                accessed_by: "ada".into(),
                access_method: "read".into(),
            },
            classification: Classification {
                level: Level::Internal,
                provenance: Provenance::Untrusted,
                reason: "project".into(),
                assigned_at: moment,
                can_be_downgraded: true,
            },
            transformations: vec![Transformation {
                kind: "written".into(),
                description: "by write".into(),
                timestamp: moment,
                input_lineage_ids: id.before().into_iter().collect(),
                agent_id: "model".into(),
            }],
            current_location: Some(Location { session_id: SessionId::new("sess_a"), context_position: 4 }),
        };
        let json = serde_json::to_value(&record).unwrap();
        let keys = |value: &serde_json::Value| {
            value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            keys(&json),
            "classification content_hash current_location lineage_id origin transformations"
        );
        assert_eq!(
            keys(&json["origin"]),
            "access_method accessed_at accessed_by record_id record_type source_name source_type"
        );
        assert_eq!(keys(&json["classification"]), "assigned_at can_be_downgraded level provenance reason");
        assert_eq!(
            keys(&json["transformations"][0]),
            "agent_id description input_lineage_ids timestamp type"
        );
        assert_eq!(keys(&json["current_location"]), "context_position session_id");
        assert_eq!(json["origin"]["accessed_at"], "2026-11-30T00:53:20.000001Z");
        assert_eq!(serde_json::from_value::<Record>(json).unwrap(), record);
    }
}
