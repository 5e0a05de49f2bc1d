"""Files that were damaged or made up are a log or are refused by name, whatever stands in them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from infex import Bandit, Infex, jittered
from infex.errors import InvalidLog
from infex.logs import Log, read, write
from infex.policies import Uniform
from tests.logs.soft_log import soft_log
from tests.logs.test_formats import dsjson, full

WORDS = [
    b"nan",
    b"1e999",
    b"-1",
    b"null",
    b"{",
    b"}",
    b"|",
    b":",
    b"\n\n",
    b",",
    b'"',
    b"\xff\xfe",
    b"\0" * 8,
    b"[]",
    b"true",
]


def seeds(folder: Path) -> dict[str, bytes]:
    """A small file of each form."""
    soft = soft_log(n=8)
    write(full(0, n=12), folder / "parquet")
    plain = Log(arm=soft.arm, reward=soft.reward, propensity=soft.propensity, base_propensities=soft.chances)
    write(plain, folder / "npz", form="obp")
    (folder / "dsjson").write_text("\n".join(dsjson(soft, row) for row in range(8)))
    pd.DataFrame({"arm": soft.arm, "reward": soft.reward, "propensity": soft.propensity}).to_csv(
        folder / "csv", index=False
    )
    bandit = Bandit(np.eye(3), Infex(Uniform(), jittered(3)), log=folder / "recorded")
    for reward in range(4):
        bandit.tell(bandit.ask(), float(reward))
    bandit.log_to(None)
    return {name: (folder / name).read_bytes() for name in ("parquet", "npz", "dsjson", "csv", "recorded")}


def spoilt(rng: np.random.Generator, data: bytes) -> bytes:
    """The same with some bytes changed, cut, doubled or put in."""
    found = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(found) + 1))
        kind = rng.integers(6)
        if kind == 0 and found:
            found[min(at, len(found) - 1)] ^= int(rng.integers(1, 256))
        elif kind == 1:
            del found[at : at + int(rng.integers(1, 30))]
        elif kind == 2:
            found[at:at] = WORDS[rng.integers(len(WORDS))]
        elif kind == 3:
            found[at:at] = found[at : at + int(rng.integers(1, 60))]
        elif kind == 4:
            found = found[:at]
        else:
            found[at : at + 4] = rng.integers(256, size=4, dtype=np.uint8).tobytes()
    return bytes(found)


def tries(folder: Path, count: int, seed: int) -> Iterator[tuple[str, Callable[[], Log]]]:
    known, rng, path = seeds(folder), np.random.default_rng(seed), folder / "spoilt"
    for number in range(count):
        form = list(known)[number % len(known)]
        path.write_bytes(spoilt(rng, known[form]) if number % 50 else rng.bytes(200))
        yield form, lambda: read(path)


def check(folder: Path, count: int, seed: int) -> None:
    seen, words = {"read": 0, "refused": 0}, []
    for _, attempt in tries(folder, count, seed):
        try:
            log = attempt()
        except InvalidLog as error:
            seen["refused"] += 1
            words.append(str(error))
        else:
            seen["read"] += 1
            assert len(log) > 0
            assert np.isfinite(log.reward[log.rewarded]).all()
            if log.propensity is not None:
                known = log.propensity[~np.isnan(log.propensity)]
                assert ((known > 0.0) & (known <= 1.0)).all()
    assert min(seen.values()) > count / 40
    assert not any("\n" in each for each in words)


def test_files_that_were_spoilt_raise_nothing_else(tmp_path: Path) -> None:
    check(tmp_path, 400, 1)


@pytest.mark.slow
def test_ten_thousand_files_that_were_spoilt_raise_nothing_else(tmp_path: Path) -> None:
    check(tmp_path, 10_000, 2)
