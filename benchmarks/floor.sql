-- The row changes of a settlement and nothing else, made where the rows are: no client, no ledger,
-- no Redis. What a worker can get near to, and never past.

CREATE SCHEMA bench;

-- Claims as we do (events, then their intents, neither waited for), then writes in one statement
-- what ours writes in one. The templates are the texts of push jobs, of the size that ours have.
CREATE FUNCTION bench.settle(batch_size integer, for_buyer text, for_merchant text)
RETURNS integer LANGUAGE plpgsql
SET enable_sort = off SET jit = off
AS $$
DECLARE
    events integer[];
    intents uuid[];
    settled_count integer;
BEGIN
    SELECT array_agg(e.id), array_agg(e.intent_id) INTO events, intents
    FROM (
        SELECT id, intent_id FROM pm.outbox_event
        WHERE status = 'pending'
        ORDER BY created_at, id
        LIMIT batch_size
        FOR UPDATE SKIP LOCKED
    ) e;

    PERFORM FROM pm.intent WHERE id = ANY (intents) FOR UPDATE SKIP LOCKED;

    WITH settled AS (
        UPDATE pm.intent i
        SET status = 'SETTLED',
            to_name = coalesce(p.receiver_display_name, i.to_name),
            settlement_date = coalesce(p.settlement_date, i.settlement_date),
            updated_at = clock_timestamp()
        FROM unnest(events, intents) AS w (event_id, intent_id)
        JOIN pm.psp_tx_map p USING (intent_id)
        WHERE i.id = w.intent_id AND i.status || '' IN ('AUTHORIZED', 'SETTLING')
        RETURNING w.event_id, i.id AS intent_id, i.amount_satang, i.currency, i.user_id,
                  i.issued_by_user_id, i.updated_at, p.psp_fee_satang
    ),
    finished AS (
        UPDATE pm.outbox_event e
        SET status = 'processed', processed_at = clock_timestamp()
        FROM settled s
        WHERE e.id = s.event_id AND e.status || '' = 'pending'
    ),
    history AS (
        INSERT INTO pm.tx_history
            (intent_id, line_no, kind, fee_kind, account, amount_satang, currency, created_at)
        SELECT s.intent_id, l.line_no, l.kind, l.fee_kind, l.account, l.amount_satang,
               s.currency, s.updated_at
        FROM settled s
        CROSS JOIN LATERAL (VALUES
            (0, 'PRINCIPAL', NULL, NULL, s.amount_satang - 325),
            (1, 'FEE', 'PLATFORM_FEE', 'revenue.THB', 325),
            (2, 'PSP_FEE', NULL, 'nostro.ipps.THB', s.psp_fee_satang)
        ) AS l (line_no, kind, fee_kind, account, amount_satang)
    ),
    audited AS (
        INSERT INTO pm.intent_event
            (intent_id, status_from, status_to, reason, payload, created_at)
        SELECT s.intent_id, 'AUTHORIZED', 'SETTLED', 'post_pending',
               format(
                   '{"by":"outbox-worker","eventId":%s,"action":"post_pending","pspFeeSatang":%s}',
                   s.event_id, s.psp_fee_satang
               )::jsonb,
               s.updated_at
        FROM settled s
    ),
    queued AS (
        INSERT INTO pm.notification_outbox (notification_id, intent_id, user_id, job, created_at)
        SELECT gen_random_uuid(), s.intent_id, j.user_id, j.job::json, s.updated_at
        FROM settled s
        CROSS JOIN LATERAL (VALUES
            (s.user_id, for_buyer), (s.issued_by_user_id, for_merchant)
        ) AS j (user_id, job)
        ON CONFLICT (notification_id) DO NOTHING
    )
    SELECT count(*) INTO settled_count FROM settled;
    RETURN settled_count;
END
$$;

-- What delivering leaves behind: each job is locked, and then gone.
CREATE FUNCTION bench.deliver(batch_size integer)
RETURNS integer LANGUAGE sql
AS $$
    WITH locked AS MATERIALIZED (
        SELECT id FROM pm.notification_outbox ORDER BY id LIMIT batch_size FOR UPDATE SKIP LOCKED
    ),
    delivered AS (
        DELETE FROM pm.notification_outbox WHERE id = ANY (ARRAY(SELECT id FROM locked))
        RETURNING id
    )
    SELECT count(*)::integer FROM delivered;
$$;
