//! The records of a change set: one for each hunk, with the sources of its file, and one for the whole; and of its leaving.
//!
//! A file that a call read or wrote by name has these as declared sources; one that only a command can have changed has the
//! workspace as an assumed one.

use enclos_core::ids::UserId;
use enclos_core::label::Label;
use enclos_core::lineage::{Change, Draft, Input, Kind, LineageId, Moment, Origin, Sent, SourceType};
use enclos_store::{CommitKey, Store, StoreError};

use super::{Known, Sketch, View, Weaver};

/// Hunks of a change set that have a record each; with more of them a file has one.
const MOST_HUNKS: usize = 2000;

/// Records of a change set, besides its own: an entry of the journal carries no more.
const MOST_RECORDS: usize = 4000;

/// What a change set is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts {
    /// Its digest.
    pub digest: String,
    /// Its files.
    pub files: Vec<Part>,
}

/// A file of a change set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// Its path.
    pub path: String,
    /// Its path before, where that is another.
    pub old_path: Option<String>,
    /// Digest of what it is now.
    pub digest: String,
    /// What it knows.
    pub label: Option<Label>,
    /// Its hunks.
    pub hunks: Vec<PartHunk>,
}

/// A hunk.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartHunk {
    /// Its first line in the new text.
    pub line: usize,
    /// How many lines of it are in the new text.
    pub lines: usize,
    /// Its lines, whose digest alone is kept.
    pub text: String,
}

impl Weaver {
    /// The records of the change set that was announced.
    pub(super) fn change_set(&mut self, view: &View<'_>) -> Vec<Draft> {
        let Some(made) = self.made.take() else { return Vec::new() };
        let all: usize = made.files.iter().map(|file| file.hunks.len()).sum();
        let mut drafts = Vec::new();
        for file in &made.files {
            let sources = self.sources_of(file);
            let whole = file.hunks.is_empty() || all > MOST_HUNKS;
            let hunks: Vec<Option<&PartHunk>> =
                if whole { vec![None] } else { file.hunks.iter().map(Some).collect() };
            for hunk in hunks.into_iter().take(MOST_RECORDS.saturating_sub(drafts.len())) {
                let record_id = hunk.map_or_else(
                    || file.path.clone(),
                    |hunk| format!("{}:{}+{}", file.path, hunk.line, hunk.lines),
                );
                let sketch = Sketch {
                    kind: Kind::DiffHunk,
                    source: (SourceType::File, &file.path),
                    method: "change set",
                    content: hunk.map_or(&file.digest, |hunk| &hunk.text),
                    record_id: Some(record_id),
                    label: file.label.unwrap_or(Label::LOWEST),
                    reason: "the records that the file was made of",
                    change: Some(("made", format!("a change of `{}`", file.path), "gateway")),
                    inputs: sources.clone(),
                };
                drafts.extend(self.draw(sketch, view));
            }
        }
        let mut inputs: Vec<(Known, bool)> = drafts.iter().map(|draft| (known(draft), true)).collect();
        if drafts.len() >= MOST_RECORDS {
            // What has no record of its own may be of anything that was in the workspace.
            inputs.extend(
                [&self.work, &self.answered].into_iter().flatten().map(|known| (known.clone(), false)),
            );
        }
        let session = self.session.clone();
        let sketch = Sketch {
            kind: Kind::Diff,
            source: (SourceType::Session, session.as_str()),
            method: "change set",
            content: &made.digest,
            record_id: None,
            label: Label::LOWEST,
            reason: "its hunks",
            change: Some(("collected", "the change set of the session".to_owned(), "gateway")),
            inputs,
        };
        drafts.extend(self.draw(sketch, view));
        drafts
    }

    /// What a file was made of, the declared sources first.
    fn sources_of(&self, file: &Part) -> Vec<(Known, bool)> {
        let mut sources = Vec::new();
        for path in std::iter::once(&file.path).chain(&file.old_path) {
            for named in [self.written.get(path), self.read.get(path)] {
                sources.extend(named.map(|known| (known.clone(), true)));
            }
        }
        for assumed in [&self.work, &self.answered] {
            sources.extend(assumed.iter().map(|known| (known.clone(), false)));
        }
        sources
    }

    /// The record of the change set's leaving for the person's tree.
    pub(crate) fn accepted(&mut self, key: &CommitKey, time: Moment) -> Option<Draft> {
        let diff = self.diff.clone()?;
        let draft = leaving(&diff, self.last, &self.person, key, time)?;
        self.last = draft.id.number();
        Some(draft)
    }
}

fn known(draft: &Draft) -> Known {
    Known { id: draft.id.clone(), label: draft.label }
}

/// The record of a change set's leaving, for a session that is not at work.
///
/// # Errors
/// What the store reports.
pub(crate) fn sent(
    store: &Store,
    lease: &enclos_store::Lease,
    person: &UserId,
    time: Moment,
) -> Result<Option<Draft>, StoreError> {
    let session = lease.session();
    let last = store.lineage_last(session)?;
    let diff =
        store.lineage_of_kind(session, Kind::Diff, 1)?.into_iter().next().filter(|diff| !diff.archived);
    let diff = diff.map(|node| Known { label: node.label(), id: node.record.lineage_id });
    Ok(diff.and_then(|diff| leaving(&diff, last, person, lease.commit_key(), time)))
}

/// Its destination is the person's own tree, whose class is what the change set knows: files above their path are held
/// before this.
fn leaving(diff: &Known, last: u32, person: &UserId, key: &CommitKey, time: Moment) -> Option<Draft> {
    let id = LineageId::of(diff.id.session(), last.checked_add(1)?)?;
    Some(Draft {
        id,
        kind: Kind::MessageOut,
        content: key.digest(diff.id.to_string().as_bytes()),
        origin: Origin {
            source_type: SourceType::Destination,
            source_name: "working tree".to_owned(),
            record_id: None,
            record_type: Some(Kind::MessageOut.as_str().to_owned()),
            accessed_at: time,
            accessed_by: person.as_str().to_owned(),
            access_method: "apply".to_owned(),
        },
        label: diff.label,
        reason: "the change set".to_owned(),
        can_be_downgraded: true,
        change: Some(Change {
            word: "sent".to_owned(),
            description: format!("to the person's working tree, which may hold {}", diff.label.level()),
            agent: person.as_str().to_owned(),
            inputs: vec![Input::declared(diff.id.clone())],
        }),
        sent: Some(Sent { destination: "working tree".to_owned(), class: diff.label.level(), consent: None }),
        lowering: None,
    })
}
