-- The journal, the sessions and their sealed content.
CREATE TABLE deployment (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id TEXT NOT NULL,
    key_check BLOB NOT NULL,
    sessions INTEGER NOT NULL
) STRICT;

CREATE TABLE session (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    created_us INTEGER NOT NULL,
    task_digest TEXT NOT NULL,
    repo BLOB NOT NULL,
    surface TEXT NOT NULL,
    state TEXT NOT NULL,
    outcome TEXT,
    closed_us INTEGER,
    epoch INTEGER NOT NULL,
    head_seq INTEGER NOT NULL,
    head_time_us INTEGER NOT NULL,
    head BLOB NOT NULL CHECK (length(head) = 32),
    sealed_key BLOB,
    sealed_extra BLOB
) STRICT;

-- Append only. A fork is impossible: one entry a place by the key, and each follows the one before by the trigger below
-- (which spares an index over the hashes, and with it a third of what every commit writes).
CREATE TABLE entry (
    session INTEGER NOT NULL REFERENCES session (number),
    seq INTEGER NOT NULL CHECK (seq > 0),
    time_us INTEGER NOT NULL,
    kind TEXT NOT NULL,
    prev_hash BLOB NOT NULL CHECK (length(prev_hash) = 32),
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    entry BLOB NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE content (
    session INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER entry_is_not_updated BEFORE UPDATE ON entry
BEGIN SELECT RAISE(ABORT, 'the journal is append only'); END;

CREATE TRIGGER entry_is_not_deleted BEFORE DELETE ON entry
BEGIN SELECT RAISE(ABORT, 'the journal is append only'); END;

-- INSERT OR REPLACE would delete without firing the trigger above.
CREATE TRIGGER entry_is_not_replaced BEFORE INSERT ON entry
WHEN EXISTS (SELECT 1 FROM entry WHERE session = NEW.session AND seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'the journal is append only'); END;

CREATE TRIGGER entry_follows_the_one_before BEFORE INSERT ON entry
WHEN NEW.seq > 1 AND NOT EXISTS
    (SELECT 1 FROM entry WHERE session = NEW.session AND seq = NEW.seq - 1 AND hash = NEW.prev_hash)
BEGIN SELECT RAISE(ABORT, 'the journal is append only, an entry must follow the one before'); END;

CREATE TRIGGER session_is_not_deleted BEFORE DELETE ON session
BEGIN SELECT RAISE(ABORT, 'the journal is append only'); END;

CREATE TRIGGER session_keeps_its_origin
BEFORE UPDATE OF number, id, created_us, task_digest, repo, surface ON session
BEGIN SELECT RAISE(ABORT, 'the journal is append only'); END;

CREATE TRIGGER session_goes_forward BEFORE UPDATE OF epoch, head_seq ON session
WHEN NEW.epoch < OLD.epoch OR NEW.head_seq < OLD.head_seq
BEGIN SELECT RAISE(ABORT, 'the journal is append only'); END;
