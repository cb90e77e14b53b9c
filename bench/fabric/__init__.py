"""Discovery of links, and the evidence for the tier that a group of ranks really used."""
