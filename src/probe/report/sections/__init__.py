"""The sections of a report, one file each: material -> section, or None where its results are not there."""
