"""What else could answer: one cheat per file, the statistics, and the verdict. No torch."""

from probe.audit.result import AuditResult, Finding
from probe.audit.run import audit

__all__ = ["AuditResult", "Finding", "audit"]
