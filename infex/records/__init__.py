"""What is kept as plain, versioned records, and back: settings, policy states, decisions."""

from infex.records.registry import ENVIRONMENTS, ESTIMATORS, FEATURES, POLICIES, SCHEDULES
from infex.records.settings import from_record, to_record

__all__ = ["ENVIRONMENTS", "ESTIMATORS", "FEATURES", "POLICIES", "SCHEDULES", "from_record", "to_record"]
