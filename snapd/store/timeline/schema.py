"""The tables of the timeline's database, and statements that relate its chains."""

from __future__ import annotations

VERSION = 20
"""The version of the tables: a database of another version is rebuilt from the events."""

TABLES = (
    # append-only; `previous` is the previous event, `chain` and `commit_id` locate it in the repository, `pins`
    # is the tree of that commit, `git_before` the git state before a change in `Event.seen`
    """
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        previous INTEGER,
        chain TEXT NOT NULL,
        commit_id BLOB NOT NULL,
        pins BLOB NOT NULL,
        milliseconds INTEGER NOT NULL,
        head_tree BLOB,
        head_coverage BLOB,
        git BLOB, git_before BLOB,
        payload TEXT NOT NULL
    )
    """,
    "CREATE INDEX events_of_a_chain ON events (chain, seq)",
    "CREATE INDEX events_with_a_head ON events (seq) WHERE head_tree IS NOT NULL",
    # in all tables, `seq` is the event that made the row; a snapshot that no event took has a `place` below 0
    """
    CREATE TABLE snapshots (
        place INTEGER PRIMARY KEY,
        seq INTEGER NOT NULL,
        kind TEXT NOT NULL,
        tree BLOB NOT NULL,
        coverage BLOB NOT NULL,
        milliseconds INTEGER NOT NULL,
        is_base INTEGER NOT NULL,
        session_id TEXT,
        step_id TEXT,
        message_id TEXT,
        operation_id TEXT
    )
    """,
    "CREATE INDEX snapshots_of_an_event ON snapshots (seq)",
    "CREATE INDEX snapshots_of_a_tree ON snapshots (tree, place)",
    "CREATE INDEX bases ON snapshots (place) WHERE is_base",
    """
    CREATE TABLE sessions (
        session_id TEXT PRIMARY KEY,
        seq INTEGER NOT NULL UNIQUE,
        agent TEXT,
        title TEXT,
        started INTEGER NOT NULL,
        ended INTEGER,
        continues TEXT,
        step_count INTEGER NOT NULL DEFAULT 0
    )
    """,
    """
    CREATE TABLE steps (
        step_id TEXT PRIMARY KEY,
        seq INTEGER NOT NULL UNIQUE,
        session_id TEXT NOT NULL REFERENCES sessions,
        place INTEGER NOT NULL,
        parent TEXT REFERENCES steps,
        message_id TEXT,
        part_id TEXT,
        tool TEXT,
        description TEXT,
        command TEXT,
        started INTEGER NOT NULL,
        ended INTEGER,
        from_tree BLOB NOT NULL,
        from_coverage BLOB NOT NULL,
        to_tree BLOB,
        to_coverage BLOB,
        state TEXT NOT NULL DEFAULT 'open',
        claims TEXT,
        uncaptured TEXT,
        detached INTEGER NOT NULL,
        late INTEGER NOT NULL,
        spoken_for INTEGER NOT NULL DEFAULT 0,
        summary TEXT,
        is_empty INTEGER,
        UNIQUE (session_id, place)
    )
    """,
    "CREATE INDEX steps_of_a_part ON steps (session_id, part_id) WHERE part_id IS NOT NULL",
    "CREATE INDEX steps_of_a_step ON steps (parent, seq) WHERE parent IS NOT NULL",
    # for counts, which every step needs: without it they would read the whole row of each step
    "CREATE INDEX steps_to_count ON steps (session_id, state, is_empty, step_id)",
    "CREATE INDEX open_steps ON steps (seq) WHERE state = 'open'",
    # `seq` is the event that first named the message; `sent` is the last that reported it as sent, or null
    """
    CREATE TABLE messages (
        session_id TEXT NOT NULL REFERENCES sessions,
        message_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        started INTEGER NOT NULL,
        text TEXT,
        sent INTEGER,
        PRIMARY KEY (session_id, message_id)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX messages_in_order ON messages (session_id, seq)",
    "CREATE INDEX messages_by_id ON messages (message_id)",
    # the steps of `Event.seen`, including those that were left
    """
    CREATE TABLE spans (
        step_id TEXT NOT NULL REFERENCES steps,
        seq INTEGER NOT NULL,
        place INTEGER NOT NULL,
        is_left INTEGER NOT NULL,
        PRIMARY KEY (step_id, seq)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX steps_of_a_span ON spans (seq, place)",
    """
    CREATE TABLE operations (
        operation_id TEXT PRIMARY KEY,
        seq INTEGER NOT NULL UNIQUE,
        session_id TEXT REFERENCES sessions,
        undoes TEXT REFERENCES operations,
        root TEXT REFERENCES steps,
        -- of an operation that can be taken back; else null
        state TEXT
    )
    """,
    "CREATE INDEX operations_in_force ON operations (seq) WHERE state IN ('applied', 'partly')",
    # `Operated.turned`: steps, and operations
    """
    CREATE TABLE turns (
        seq INTEGER NOT NULL,
        place INTEGER NOT NULL,
        step_id TEXT REFERENCES steps,
        turned TEXT REFERENCES operations,
        PRIMARY KEY (seq, place)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX turns_of_a_step ON turns (step_id)",
    # what was undone of steps and operations and not redone; `seq` and `place` are those of the turn that undid it,
    # `step_id` is null for an operation, `name` is that of either; `git` is whether the git state was undone, too
    """
    CREATE TABLE undone (
        name TEXT NOT NULL,
        seq INTEGER NOT NULL,
        place INTEGER NOT NULL,
        step_id TEXT REFERENCES steps,
        operation_id TEXT NOT NULL REFERENCES operations,
        rest TEXT,
        redoable INTEGER NOT NULL,
        git INTEGER NOT NULL,
        PRIMARY KEY (name, seq)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX redoable_undone ON undone (step_id) WHERE redoable",
    # `Kept.steps`
    """
    CREATE TABLE kept (
        seq INTEGER NOT NULL,
        step_id TEXT NOT NULL REFERENCES steps,
        PRIMARY KEY (seq, step_id)
    ) WITHOUT ROWID
    """,
    # `state` may also be 'purged'; `due` is the last event of which the agent is to hear, null if it knows; `delivered`
    # is when it was told last
    """
    CREATE TABLE comments (
        comment_id TEXT PRIMARY KEY,
        seq INTEGER NOT NULL UNIQUE,
        session_id TEXT REFERENCES sessions,
        state TEXT NOT NULL,
        due INTEGER,
        delivered INTEGER
    )
    """,
    "CREATE INDEX open_comments ON comments (session_id, seq) WHERE state = 'open'",
    # `Replied`, by the event
    """
    CREATE TABLE replies (
        seq INTEGER PRIMARY KEY,
        comment_id TEXT NOT NULL REFERENCES comments
    )
    """,
    "CREATE INDEX replies_to_a_comment ON replies (comment_id, seq)",
    # `Informed.files`, by the event
    """
    CREATE TABLE looks (
        seq INTEGER NOT NULL,
        path BLOB NOT NULL,
        session_id TEXT NOT NULL REFERENCES sessions,
        until INTEGER NOT NULL,
        entry TEXT,
        PRIMARY KEY (seq, path)
    ) WITHOUT ROWID
    """,
    # the files that each event changed: filled on demand, in the order of the events, see `touched`
    """
    CREATE TABLE touched (
        path BLOB NOT NULL,
        seq INTEGER NOT NULL,
        part TEXT NOT NULL,
        old TEXT,
        new TEXT,
        other BLOB,
        PRIMARY KEY (path, seq, part)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX touched_by_an_event ON touched (seq)",
    # the last event whose files are in `touched`
    "CREATE TABLE listed (seq INTEGER NOT NULL)",
    # what followed from the changes of a file up to event `seq`, its last one; see `Timeline.fold_of`
    """
    CREATE TABLE folds (
        path BLOB PRIMARY KEY,
        seq INTEGER NOT NULL,
        basis TEXT NOT NULL,
        fold TEXT NOT NULL
    ) WITHOUT ROWID
    """,
)

LINKS = """
SELECT here.chain, there.chain
FROM (
    SELECT spans.seq AS here, steps.seq AS there FROM spans JOIN steps USING (step_id)
    UNION SELECT turns.seq, steps.seq FROM turns JOIN steps USING (step_id)
    UNION SELECT turns.seq, operations.seq FROM turns JOIN operations ON operations.operation_id = turns.turned
    UNION SELECT operations.seq, steps.seq FROM operations JOIN steps ON steps.step_id = operations.root
    UNION SELECT kept.seq, steps.seq FROM kept JOIN steps USING (step_id)
    UNION SELECT replies.seq, comments.seq FROM replies JOIN comments USING (comment_id)
    UNION SELECT part.seq, whole.seq FROM steps AS part JOIN steps AS whole ON whole.step_id = part.parent
    UNION SELECT back.seq, back_to.seq FROM operations AS back JOIN operations AS back_to
        ON back_to.operation_id = back.undoes
) AS links
JOIN events AS here ON here.seq = links.here
JOIN events AS there ON there.seq = links.there
WHERE here.chain != there.chain
GROUP BY here.chain, there.chain
"""
"""The chains with an event that refers to another chain."""

CHAINS = """
SELECT chain, payload, commit_id,
    chain IN (
        SELECT begun.chain FROM sessions JOIN events AS begun USING (seq) WHERE ended IS NULL
        UNION ALL SELECT made.chain FROM comments JOIN events AS made USING (seq)
            WHERE state = 'open' AND comments.session_id IS NULL
    )
FROM events
ORDER BY seq
"""
"""For each event its chain, its JSON, and whether the chain is an open session, or has an open comment to nobody."""


HEADS = """
WITH RECURSIVE chains (name) AS (
    SELECT MIN(chain) FROM events
    UNION ALL SELECT (SELECT MIN(chain) FROM events WHERE chain > name) FROM chains WHERE name IS NOT NULL
)
SELECT name, (SELECT commit_id FROM events WHERE chain = name ORDER BY seq DESC LIMIT 1)
FROM chains WHERE name IS NOT NULL
"""
"""The newest commit of each chain; reads few rows of each chain, however long it is."""

GO_ON = """
UPDATE steps SET to_tree = ?, to_coverage = ?, summary = NULL, is_empty = NULL WHERE step_id = ? AND state != 'open'
"""
"""Moves the end of a step that has ended to another snapshot."""

ROOTS = "SELECT chain, seq, commit_id, pins FROM events"
"""For each event its chain, its `seq`, its commit, and the tree of that."""
