"""What can be wrong with the ranks, their hosts and their libraries before anything is timed."""
