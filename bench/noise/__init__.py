"""How much this machine disturbs a measurement: measured here, judged in :mod:`collmark.core.noise_judgement`."""
