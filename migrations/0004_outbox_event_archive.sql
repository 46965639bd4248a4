-- Why: finished events leave pm.outbox_event, so that what its indexes and its vacuum have to
--      carry stays small. Rows come only by `outbox-worker prune`, which nobody runs by itself.
-- Deploy: before the release that reads it (expand). Dropping it loses what was moved there.
-- Locks: none on existing tables.

CREATE TABLE pm.outbox_event_archive (
    -- The columns of pm.outbox_event, without its defaults: rows come from there as they are.
    id           integer     NOT NULL,
    intent_id    uuid        NOT NULL,
    action       varchar(20) NOT NULL,
    status       varchar(20) NOT NULL,
    payload      jsonb,
    retry_count  integer     NOT NULL,
    created_at   timestamptz NOT NULL,
    processed_at timestamptz,
    archived_at  timestamptz NOT NULL,
    -- The intent comes first, since that is what most readers ask for. Ids alone may repeat: a
    -- serial that is used up begins anew.
    PRIMARY KEY (intent_id, id)
);
CREATE INDEX outbox_event_archive_id_idx ON pm.outbox_event_archive (id);
