"""ACM: certificates, and how they come to be issued."""
