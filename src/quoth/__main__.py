"""`python -m quoth` is `quoth`."""

from quoth.cli import main

if __name__ == "__main__":  # a worker of `quoth serve` imports this once more
    main()
