"""The atlas: published bases, each alone and under schedules, on many problems."""
