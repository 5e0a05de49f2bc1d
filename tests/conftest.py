"""What holds for all tests."""

import signal

from hypothesis import HealthCheck, settings

# A limit on the time of an example, or of drawing one, is a race: a busy machine would fail it.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# A shell that starts tests in the background has them ignore Ctrl-C, and all processes that they start:
# tests that send it would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
