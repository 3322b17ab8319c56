"""The rate limiter of one lane: a token bucket, the fair queue before it, and reservations of those who come back."""
