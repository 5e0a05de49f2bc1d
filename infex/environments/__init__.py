"""Problems to play: they own the means, the gaps and the regret."""

from infex.environments.contexts import ChangingInstance, changing
from infex.environments.linear import LinearInstance, gaussian, lower_bound

Instance = LinearInstance | ChangingInstance

__all__ = ["ChangingInstance", "Instance", "LinearInstance", "changing", "gaussian", "lower_bound"]
