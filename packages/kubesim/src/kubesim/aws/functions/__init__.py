"""Lambda, as far as its functions' resource policies go: who may invoke what."""
