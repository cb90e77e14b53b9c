"""Hosts that are namespaces of this machine, joined by links of known rates: to test and to show, never to measure."""
