"""The server: live tables over WebSocket and HTTP."""
