-- Why: the payment manager's other tables, as far as the worker reads or writes them, so that
--      a fresh database is complete.
-- Deploy: on a fresh database only; where the payment manager made the tables, this file is
--         marked as applied and never run.
-- Locks: none on existing tables.

-- No foreign keys to pm.intent, and VARCHAR with CHECK instead of enums: the payment manager's
-- own decisions.
CREATE TABLE pm.intent (
    id                uuid         PRIMARY KEY,
    status            varchar(20)  NOT NULL,
    operation_type    varchar(40)  NOT NULL,
    channel           varchar(40),
    amount_satang     bigint       NOT NULL,
    currency          varchar(3)   NOT NULL DEFAULT 'THB',
    user_id           uuid,
    issued_by_user_id uuid,
    metadata          jsonb,
    tb_transfer_ids   uuid[]       NOT NULL DEFAULT '{}',
    to_name           varchar(255),
    settlement_date   date,
    failure_reason    text,
    created_at        timestamptz  NOT NULL DEFAULT now(),
    updated_at        timestamptz  NOT NULL DEFAULT now(),
    CONSTRAINT intent_status_chk CHECK (
        status IN ('CREATED', 'AUTHORIZED', 'SETTLING', 'SETTLED', 'FAILED', 'MANUAL_REVIEW')
    )
);

CREATE TABLE pm.psp_tx_map (
    intent_id             uuid        PRIMARY KEY,
    psp                   varchar(40),
    state                 varchar(40),
    psp_reference         text,
    receiver_display_name text,
    psp_fee_satang        bigint,
    settlement_date       date,
    last_error            text
);

CREATE TABLE pm.tx_history (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    intent_id     uuid        NOT NULL,
    line_no       integer     NOT NULL,
    kind          varchar(20) NOT NULL,
    fee_kind      text,
    account       text,
    amount_satang bigint      NOT NULL,
    currency      varchar(3)  NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now()
);
-- Every reader asks for one intent's lines, in order.
CREATE INDEX tx_history_intent_id_idx ON pm.tx_history (intent_id, line_no);

CREATE TABLE pm.intent_event (
    id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    intent_id   uuid        NOT NULL,
    status_from varchar(40),
    status_to   varchar(40) NOT NULL,
    reason      text,
    payload     jsonb,
    created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX intent_event_intent_id_idx ON pm.intent_event (intent_id, created_at);

CREATE TABLE pm.tb_account_map (
    code          text    PRIMARY KEY,
    tb_account_id uuid    NOT NULL,
    ledger        integer NOT NULL
);
