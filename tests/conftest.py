"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# A limit on the time of an example, or of drawing one, is a race: a busy machine would fail it.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
