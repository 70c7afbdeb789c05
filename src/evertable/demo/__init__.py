"""The demo: an embedded broker with changing sample data, and the configuration of a server for it."""
