"""Attacks, kills and faults, to see what Quoth withstands: `make campaign`.

Campaigns are bounded in count and time and stay on this machine. Each one counts what was tried, what held and what was
lost; `docs/benchmarks/reliability.md` is written from those counts. Campaigns use the helpers of `tests/`, never
`../shared`.
"""
