"""Control messages: from records on the control topic to the wiring that they request."""
