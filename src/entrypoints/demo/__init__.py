"""The main job for a newcomer: ``outbox-worker demo``, on servers of its own."""
