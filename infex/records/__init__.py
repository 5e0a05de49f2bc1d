"""What is kept as plain, versioned records, and back: settings, notes, decisions."""

from infex.records.registry import ENVIRONMENTS, ESTIMATORS, FEATURES, POLICIES, SCHEDULES
from infex.records.settings import made, record

__all__ = ["ENVIRONMENTS", "ESTIMATORS", "FEATURES", "POLICIES", "SCHEDULES", "made", "record"]
