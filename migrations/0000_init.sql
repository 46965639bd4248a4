-- Why: the outbox table of the payment manager, to the letter of its own migration.
-- Deploy: on a fresh database only; where the payment manager made the table, this file is
--         marked as applied and never run.
-- Locks: none on existing tables.

CREATE SCHEMA IF NOT EXISTS pm;

CREATE TABLE "pm"."outbox_event" (
    "id" serial PRIMARY KEY NOT NULL,
    "intent_id" uuid NOT NULL,
    "action" varchar(20) NOT NULL,
    "status" varchar(20) DEFAULT 'pending' NOT NULL,
    "payload" jsonb,
    "retry_count" integer DEFAULT 0 NOT NULL,
    "created_at" timestamp with time zone DEFAULT now() NOT NULL,
    "processed_at" timestamp with time zone,
    CONSTRAINT "outbox_event_action_chk" CHECK ("pm"."outbox_event"."action" IN ('post_pending', 'void_pending')),
    CONSTRAINT "outbox_event_status_chk" CHECK ("pm"."outbox_event"."status" IN ('pending', 'processed', 'failed'))
);

CREATE INDEX "outbox_event_status_created_at_idx" ON "pm"."outbox_event" USING btree ("status","created_at");
CREATE INDEX "outbox_event_intent_id_idx" ON "pm"."outbox_event" USING btree ("intent_id");
