"""Which rank, node, NIC or pair is slow: times of all pairs, and what they have in common."""
