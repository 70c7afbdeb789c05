"""Live views: pages that are kept up to date for everyone who watches them.

From a change to a frame: ``hub`` notices it and runs a round, ``orders`` sorts and filters on a worker, ``live_view``
reads what its page now shows, and ``current_page`` encodes what each subscription has not been sent of it.
"""
