"""How we look: one method per file, from tensors to a table, and only there."""
