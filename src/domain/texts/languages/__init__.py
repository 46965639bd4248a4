"""One file a language, by its ISO 639 code; each holds ``PHRASES``. Adding one adds a language."""
