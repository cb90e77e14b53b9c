"""What a measurement is set against: the declared link, its own asymptote, and published figures."""
