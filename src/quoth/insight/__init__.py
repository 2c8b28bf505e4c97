"""What operators see of an answer: log lines, traces, spans."""
