#!/usr/bin/env python3
"""The version of infex; run as a program, it prints it, for the build."""

__version__ = "0.1.0"

if __name__ == "__main__":
    print(__version__)
