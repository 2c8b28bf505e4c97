"""`python -m quoth` is `quoth`."""

from quoth.cli import main

main()
