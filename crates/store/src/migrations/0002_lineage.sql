-- Lineage: records, what each was made of, and the words that they share.
-- A record's number is its session's number * 2^24 + its number in the session: records of one session lie together, and
-- what a record is made of has a smaller number in the same session.
CREATE TABLE lineage_word (
    number INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE lineage_record (
    number INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    time_us INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    label INTEGER NOT NULL CHECK (label BETWEEN 0 AND 7),
    never INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 33),
    source_type INTEGER NOT NULL,
    source INTEGER NOT NULL,
    record_id TEXT,
    record_type INTEGER,
    by_whom INTEGER NOT NULL,
    method INTEGER NOT NULL,
    reason INTEGER NOT NULL,
    change INTEGER,
    description INTEGER,
    agent INTEGER,
    witness INTEGER,
    rule INTEGER
) STRICT;

CREATE TABLE lineage_edge (
    dst INTEGER NOT NULL,
    src INTEGER NOT NULL CHECK (src <> dst),
    declared INTEGER NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (dst, src)
) STRICT, WITHOUT ROWID;

CREATE INDEX lineage_forward ON lineage_edge (src, dst);
CREATE INDEX lineage_of_source ON lineage_record (source, time_us) WHERE change IS NULL;
CREATE INDEX lineage_downgraded ON lineage_record (time_us) WHERE rule IS NOT NULL;

-- The last number given in a session, the last that was archived at a reset, and the last of each that went with its
-- retention.
CREATE TABLE lineage_session (
    session INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    archived INTEGER NOT NULL DEFAULT 0,
    gone INTEGER NOT NULL DEFAULT 0,
    archived_gone INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Answers that a source gave to aggregates, to all sessions and persons together.
CREATE TABLE lineage_spent (
    source TEXT PRIMARY KEY,
    answers INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER lineage_record_is_not_updated BEFORE UPDATE ON lineage_record
BEGIN SELECT RAISE(ABORT, 'records of lineage are not changed'); END;

CREATE TRIGGER lineage_edge_is_not_updated BEFORE UPDATE ON lineage_edge
BEGIN SELECT RAISE(ABORT, 'records of lineage are not changed'); END;
