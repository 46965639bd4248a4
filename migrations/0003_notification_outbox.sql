-- Why: push jobs are committed together with the settlement that causes them; delivering
--      them can then fail, and be repeated, without touching the settlement.
-- Deploy: before the worker starts (expand).
-- Locks: none on existing tables.

CREATE TABLE pm.notification_outbox (
    id              bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    notification_id uuid        NOT NULL UNIQUE,
    intent_id       uuid        NOT NULL,
    user_id         uuid        NOT NULL,
    -- json, not jsonb: what goes on the stream is the text as it was written.
    job             json        NOT NULL,
    created_at      timestamptz NOT NULL
) WITH (
    -- Every row is deleted soon after it came, oldest first: without frequent sweeps each read
    -- would walk over the dead ones.
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 500
);
