from enum import IntEnum

class ControlKind(IntEnum):
    LIMITS = ...
    GUARDS = ...
    CERTAINTY = ...
    PAUSES = ...

class Control:
    def __init__(
        self,
        kind: ControlKind,
        makes_up: bool = False,
        limit: float = 0.0,
        over: int = 0,
        noise: float = 0.0,
        bound: float = 0.0,
        delta: float = 1.0,
        scale: float = 0.0,
        mixture: bool = False,
    ) -> None: ...
