"""What operators see of an answer afterwards: log lines, traces, spans."""
