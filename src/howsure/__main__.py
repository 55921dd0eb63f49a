"""`python -m howsure` is the command `howsure`."""

from howsure.cli import main

main()
