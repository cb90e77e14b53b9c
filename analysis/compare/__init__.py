"""Two runs or more, case by case: ratios over launches, verdicts by geometry, and a gate."""
