"""What kro adds to the language."""
