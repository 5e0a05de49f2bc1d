"""infex and other libraries on the same work, in turns in one process: `make peers`."""
