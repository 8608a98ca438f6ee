"""From results to pictures: our own SVG for pages and the README, matplotlib for print. No torch."""
