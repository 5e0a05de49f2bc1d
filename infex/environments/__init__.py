"""Problems to play: they own the means, the gaps and the regret."""

from infex.environments.linear import LinearInstance, gaussian

__all__ = ["LinearInstance", "gaussian"]
