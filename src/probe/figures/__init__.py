"""From results to pictures. No torch.

results of a run        findings.py     what a run folder holds, and tidy tables as heat maps
→ a figure            of_*.py         one function for each figure; catalogue.py lists them by name
→ its parts           heatmap.py, circuit.py, lines.py, bars.py, view.py: numbers, and how they are laid out
→ marks               drawing.py      lines, dots, labels and grids of cells, in px
→ a file              svg.py for pages and the README; press.py for print, by matplotlib
"""
