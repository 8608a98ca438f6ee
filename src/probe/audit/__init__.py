"""What else could answer: one cheat per file, the statistics, and the verdict. See EVIDENCE, "Cheats". No torch."""

from probe.audit.run import AuditResult, Finding, audit

__all__ = ["AuditResult", "Finding", "audit"]
