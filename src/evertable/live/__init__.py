"""Live views: pages that are kept up to date for everyone who watches them."""
