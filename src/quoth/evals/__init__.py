"""Golden questions go through the readers' own pipeline and come out as figures. `quoth eval` runs this."""
