"""Speed, as ratios within one run. Never asserted in a test: machines are shared and noisy."""
