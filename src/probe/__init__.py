"""probe: what a small transformer looks at, and whether that causes its answer."""

__version__ = "0.1.0"
