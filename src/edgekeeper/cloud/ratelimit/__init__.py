"""The rate limiter of one lane: a token bucket, a fair queue, and reservations for callers that will retry."""
