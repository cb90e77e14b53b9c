"""What the doctor found in a run, all launches together."""

from __future__ import annotations

from collmark.core.doctor.finding import Finding
from collmark.core.record import Run


def found_before(run: Run) -> list[Finding]:
    """Return what was found before the cases, each thing once."""
    diagnoses = [launch.doctor for launch in run.launches if launch.doctor is not None]
    found = {str(finding): finding for diagnosis in diagnoses for finding in diagnosis.findings}
    return list(found.values())
