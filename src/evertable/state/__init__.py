"""The state topic: what survives a restart of the orchestrator, and the lock that only one of them holds."""
