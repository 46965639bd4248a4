-- Why: takes back wake_up_on.sql, without a trace. Workers go on by polling.
-- Deploy: by `outbox-worker wake-up off`, at any time.
-- Locks: ACCESS EXCLUSIVE on pm.outbox_event, for an instant.

DROP TRIGGER IF EXISTS outbox_wake_up ON pm.outbox_event;
DROP FUNCTION IF EXISTS pm.outbox_wake_up();
