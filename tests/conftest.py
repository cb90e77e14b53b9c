"""What holds for all tests: the same examples in every run, however busy the machine is."""

from hypothesis import settings

# No deadline: on two shared cores any example may meet a slice of somebody else's work.
settings.register_profile("collmark", deadline=None, derandomize=True)
settings.load_profile("collmark")
