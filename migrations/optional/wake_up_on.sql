-- Why: whoever orders a settlement wakes an idle worker at once, instead of waiting for its
--      next look.
-- Deploy: only by `outbox-worker wake-up on`, since it adds to a table of the payment manager's.
--         Old and new workers get along with and without it.
-- Locks: SHARE ROW EXCLUSIVE on pm.outbox_event, for an instant.
-- Costs: NOTIFY takes a lock at commit that the whole server shares, so that commits which
--        insert events happen one after the other.

-- The bare statement: nothing in it depends on the producer's search_path. Equal notifications
-- of a transaction are sent once, after its commit.
CREATE OR REPLACE FUNCTION pm.outbox_wake_up() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NOTIFY pm_outbox_event;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER outbox_wake_up
    AFTER INSERT ON pm.outbox_event
    FOR EACH STATEMENT EXECUTE FUNCTION pm.outbox_wake_up();

COMMENT ON TRIGGER outbox_wake_up ON pm.outbox_event IS
    'Wakes idle outbox workers. Made by `outbox-worker wake-up on`, removed by `wake-up off`.';
