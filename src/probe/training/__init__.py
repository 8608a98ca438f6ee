"""How a model learns: the loop, its schedule and state, and many seeds side by side."""
