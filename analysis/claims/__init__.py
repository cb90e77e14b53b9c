"""Claims and their verdicts: rows of TOML, predicates that decide them, rules that say what counts."""
