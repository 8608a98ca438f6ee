"""`python -m probe`."""

from probe.cli import main

if __name__ == "__main__":
    main()
