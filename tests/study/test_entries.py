"""The chain of a journal, computed the slow way."""

import hashlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infex.errors import DamagedJournal
from infex.study.entries import BEGINNING, Draft, followed, linked
from infex.testing.stores import changes, drafts

TEXTS = st.text(max_size=8)
DRAFTS = st.lists(
    st.builds(Draft, TEXTS, TEXTS, TEXTS, st.integers(-(2**62), 2**62), st.binary(max_size=20)), max_size=6
)


@given(DRAFTS)
def test_links_are_what_is_promised(made: list[Draft]) -> None:
    entries = linked(made, BEGINNING)
    assert list(followed(entries, BEGINNING)) == entries
    before = bytes(32)
    for number, (entry, draft) in enumerate(zip(entries, made, strict=True), start=1):
        assert (entry.kind, entry.key, entry.unit, entry.at, entry.content) == draft
        assert entry.salt is not None
        unit = draft.unit.encode()
        sealed = entry.salt + len(unit).to_bytes(4, "big") + unit + draft.content
        assert entry.seal == hashlib.blake2b(sealed, digest_size=32).digest()
        kind = draft.kind.encode()
        fixed = number.to_bytes(8, "big") + draft.at.to_bytes(8, "big", signed=True)
        whole = before + entry.seal + fixed + len(kind).to_bytes(4, "big") + kind + draft.key.encode()
        before = hashlib.blake2b(whole, digest_size=32).digest()
        assert (entry.number, entry.link) == (number, before)


def test_any_change_and_any_missing_entry_is_named() -> None:
    entries = linked(drafts(5), BEGINNING)
    for changed in changes(entries[2]):
        with pytest.raises(DamagedJournal, match=r"entry [34] "):
            list(followed([*entries[:2], changed, *entries[3:]], BEGINNING))
    with pytest.raises(DamagedJournal, match="entry 3 of the journal is missing"):
        list(followed([*entries[:2], *entries[3:]], BEGINNING))
    with pytest.raises(DamagedJournal):
        list(followed([entries[1], entries[0]], BEGINNING))


def test_what_was_erased_cannot_be_put_back_otherwise() -> None:
    entries = linked(drafts(3), BEGINNING)
    erased = entries[1]._replace(unit=None, content=None, salt=None)
    assert len(list(followed([entries[0], erased, entries[2]], BEGINNING))) == 3
    for unit, content in itertools.product(("", "ann"), (b"", b"content of 2")):
        guess = erased._replace(unit=unit, content=content, salt=bytes(16))
        with pytest.raises(DamagedJournal, match="entry 2"):
            list(followed([entries[0], guess, entries[2]], BEGINNING))


def test_the_same_content_has_another_seal_each_time() -> None:
    draft = drafts(1)[0]
    assert linked([draft], BEGINNING)[0].seal != linked([draft], BEGINNING)[0].seal
