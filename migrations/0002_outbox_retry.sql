-- Why: a failed event waits by itself instead of blocking those behind it. Its next attempt
--      time lives in the database, so that any number of workers keeps to it.
-- Deploy: before the worker starts (expand). Dropping it loses backoffs, never an event.
-- Locks: none on existing tables.

CREATE TABLE pm.outbox_retry (
    event_id        integer     PRIMARY KEY,
    intent_id       uuid        NOT NULL,
    attempts        integer     NOT NULL,
    reason          text        NOT NULL,
    last_error      text        NOT NULL,
    next_attempt_at timestamptz NOT NULL,
    generations     integer[]   NOT NULL DEFAULT '{}',
    first_failed_at timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL
) WITH (
    -- Rows are updated in place at each attempt: room on the page keeps those updates out of
    -- the index, and dead versions are swept long before a fifth of the table is dead.
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 500
);
