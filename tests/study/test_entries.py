"""The chain of a journal, computed the slow way."""

import hashlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infex.errors import DamagedFile, DamagedJournal
from infex.study.journal import BEGINNING, Draft, entries_from_rows, linked, verified
from infex.study.known_keys import KEYS_IN_A_RUN, KnownKeys
from infex.study.metrics import Drift
from infex.testing.stores import changes, drafts

TEXTS = st.text(max_size=8)
DRAFTS = st.lists(
    st.builds(Draft, TEXTS, TEXTS, TEXTS, st.integers(-(2**62), 2**62), st.binary(max_size=20)), max_size=6
)


@given(DRAFTS)
def test_links_are_what_is_promised(made: list[Draft]) -> None:
    entries = linked(made, BEGINNING)
    assert list(verified(entries, BEGINNING)) == entries
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
            list(verified([*entries[:2], changed, *entries[3:]], BEGINNING))
    with pytest.raises(DamagedJournal, match="entry 3 of the journal is missing"):
        list(verified([*entries[:2], *entries[3:]], BEGINNING))
    with pytest.raises(DamagedJournal):
        list(verified([entries[1], entries[0]], BEGINNING))


def test_what_was_erased_cannot_be_put_back_otherwise() -> None:
    entries = linked(drafts(3), BEGINNING)
    erased = entries[1]._replace(unit=None, content=None, salt=None)
    assert len(list(verified([entries[0], erased, entries[2]], BEGINNING))) == 3
    for unit, content in itertools.product(("", "ann"), (b"", b"content of 2")):
        guess = erased._replace(unit=unit, content=content, salt=bytes(16))
        with pytest.raises(DamagedJournal, match="entry 2"):
            list(verified([entries[0], guess, entries[2]], BEGINNING))


def test_rows_are_entries_whole_or_erased_and_nothing_between() -> None:
    entries = linked(drafts(4), BEGINNING)
    rows = [tuple(entry) for entry in entries]
    assert entries_from_rows(rows) == entries
    assert entries_from_rows([]) == []
    erased = tuple(entries[1]._replace(unit=None, content=None, salt=None))
    assert entries_from_rows([rows[0], erased, rows[2]]) == [entries[0], erased, entries[2]]
    for field, value in itertools.product(range(9), (None, 1.5)):
        damaged = tuple(value if place == field else part for place, part in enumerate(rows[1]))
        with pytest.raises(DamagedJournal, match="a field has another type"):
            entries_from_rows([rows[0], damaged, erased])


@given(st.lists(TEXTS), st.lists(TEXTS), st.lists(TEXTS))
def test_keys_are_known_also_after_they_were_written_and_read(
    first: list[str], added: list[str], asked: list[str]
) -> None:
    before = KnownKeys()
    for key in first:
        before.add(key)
    keys = KnownKeys.restored(before.summary(), list(before.new_runs.values()))
    for key in added:
        keys.add(key)
    known = {*first, *added}
    assert [key in keys for key in asked] == [key in known for key in asked]


def test_keys_make_the_same_runs_wherever_a_snapshot_was_taken() -> None:
    every = [f"key {n}" for n in range(5 * KEYS_IN_A_RUN + 7)]
    whole = KnownKeys()
    for key in every:
        whole.add(key)
    assert sorted(whole.new_runs) == [0, 1, 2, 3, 4]
    part, runs = KnownKeys(), dict[int, bytes]()
    for place, key in enumerate(every):
        part.add(key)
        if place % 3001 == 0:
            runs |= part.new_runs
            part = KnownKeys.restored(part.summary(), None)  # as a replay that needs not know all keys
    assert runs | part.new_runs == whole.new_runs
    kept = list(whole.new_runs.values())
    again = KnownKeys.restored(part.summary(), [*kept, b"of later"])
    assert again.summary() == whole.summary()
    assert all(key in again and key in whole for key in every)
    assert not any(f"other {n}" in again for n in range(1000))
    for damaged in (kept[:-1], [*kept[:4], kept[0]], [bytes(len(kept[0])), *kept[1:]]):
        with pytest.raises(DamagedFile, match="not those that were written"):
            KnownKeys.restored(part.summary(), damaged)


@given(st.lists(st.floats(-10, 10), min_size=1))
def test_the_drift_of_residuals_has_their_mean(residuals: list[float]) -> None:
    drift = Drift()
    for residual in residuals:
        drift.add(residual)
    assert drift.count == len(residuals)
    assert drift.mean == pytest.approx(sum(residuals) / len(residuals), abs=1e-12)


def test_the_same_content_has_another_seal_each_time() -> None:
    draft = drafts(1)[0]
    assert linked([draft], BEGINNING)[0].seal != linked([draft], BEGINNING)[0].seal
