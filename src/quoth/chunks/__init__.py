"""A page becomes chunks, and chunks become what an index stores."""
