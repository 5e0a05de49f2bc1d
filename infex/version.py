"""The version of infex."""

__version__ = "0.1.0"
