"""Settings, container, command line and worker."""
