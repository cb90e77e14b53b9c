"""What a collective costs: messages, bytes and reductions by algorithm and ranks, and what they say of measurements."""
