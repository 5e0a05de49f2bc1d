"""Who else holds an object: evidence that nobody keeps need not stay as it is."""

from sys import getrefcount


def _count_of_one_name() -> int:
    held = object()
    return getrefcount(held)


ALONE = _count_of_one_name()  # what `getrefcount` says of an object that one local name holds
