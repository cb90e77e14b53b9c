"""Every noun of the domain, and the statistics both sides need: standard library, numpy, msgspec only."""
