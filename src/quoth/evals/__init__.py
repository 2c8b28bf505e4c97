"""Golden questions go through the pipeline that readers use, and come out as figures. `quoth eval` runs this."""
