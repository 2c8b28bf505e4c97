"""Shipped fakes: each port in memory, passing the same contract suite as the real thing. Import from its module."""
