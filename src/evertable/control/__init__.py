"""Control: from messages on the control topic to the wiring that is wanted."""
