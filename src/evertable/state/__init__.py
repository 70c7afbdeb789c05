"""The state topic: what outlives the orchestrator, and the lock that only one of them holds."""
