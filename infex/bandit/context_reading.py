"""Contexts with names on their way into a bandit: read once, and what was noticed goes with the decision."""

from __future__ import annotations

from infex.bandit.arms import Arms, Asked, Mapped
from infex.errors import InvalidChoice
from infex.features import Encoded
from infex.rounds import Taken


def read_one(arms: Arms, context: object) -> object:
    """A context as the encoder of the map reads it; as it is if there is none, or it was read before."""
    if not isinstance(arms, Mapped) or arms.encoder is None or context is None or type(context) is Encoded:
        return context
    return arms.encoder.encode(context)


def read(arms: Arms, asked: Asked) -> Asked:
    """What was asked, with its context read."""
    context = read_one(arms, asked.context)
    return asked if context is asked.context else asked._replace(context=context)


def noticed_in(context: object) -> tuple[str, ...]:
    """The rules that a context took."""
    return context.noticed if isinstance(context, Encoded) else ()


def counting(taken: Taken, asked: Asked) -> Taken:
    """What was taken, with the rules that its context took."""
    noticed = noticed_in(asked.context)
    return taken._replace(noticed=noticed) if noticed else taken


def checked_rules(arms: Arms, noticed: object) -> tuple[str, ...]:
    """Rules that a context took, which may come from a journal: texts, and none without an encoder."""
    encodes = isinstance(arms, Mapped) and arms.encoder is not None
    if not isinstance(noticed, tuple) or not all(isinstance(rule, str) for rule in noticed):
        raise InvalidChoice("what was noticed of a context must be a tuple of texts")
    if noticed and not encodes:
        raise InvalidChoice("something was noticed of a context that this bandit has no encoder for")
    return noticed
