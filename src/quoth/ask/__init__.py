"""One question, in the order in which it is answered: request, follow-up, find, judge, reply, check, remember."""
