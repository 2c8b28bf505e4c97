"""Shipped fakes: each port in memory; all pass the same contract suite as the real thing. Import from the module."""
