"""A configuration guessed from what topics hold, for people who begin."""
