"""`python -m infex`."""

from infex.cli import main

if __name__ == "__main__":
    main()
