"""What is done to Quoth on purpose to see what it withstands: `make campaign`.

Bounded in count and time, on this machine alone. Each campaign counts what was tried, what held and what was lost;
`docs/benchmarks/reliability.md` is written from those counts. Campaigns use the helpers of `tests/`, never
`../shared`.
"""
