"""Run the command line as `python -m edgekeeper.cli`."""

from edgekeeper.cli.main import main

main()
