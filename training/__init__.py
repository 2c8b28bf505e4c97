"""Training of the reader: data, network, loop, measurement and export. Needs torch; never imported by `quoth`.

`prepare` cuts examples from public data and books, `train` learns from them, `evaluate` measures, `export` writes
packaging/quoth-reader. Everything that runs for long writes into the ignored folder .training/.
"""
