"""With compilation off runs are short: lines of kernels are counted then, and numbers compared elsewhere."""

import infex.testing.policies
from infex.kernels.compiling import plain_python

if plain_python:
    infex.testing.policies.HORIZON = 25
