"""The sections of a report, a file each: material to content, or None where there is nothing to say."""
