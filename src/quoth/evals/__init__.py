"""`quoth eval`: golden questions go through the pipeline that every reader goes through, and come out as numbers."""
