"""Predicates that records decide: which records, refused when unlike, and what is taken from them."""
