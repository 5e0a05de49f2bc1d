"""The picture of the page in the manual is taken of the page as it is today."""

import struct
from pathlib import Path

import pytest

from docs.building import service_picture


@pytest.mark.browser
def test_a_picture_is_taken_once_the_simulated_shop_is_drawn(tmp_path: Path) -> None:
    service_picture.take(tmp_path / "service.png")
    taken = (tmp_path / "service.png").read_bytes()
    assert struct.unpack(">II", taken[16:24]) == (service_picture.WIDTH, service_picture.HEIGHT)
    assert len(taken) > 50_000  # of a page in one colour there are 10,000


def test_without_a_browser_the_manual_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    service_picture.take(tmp_path / "service.png")
    assert list(tmp_path.iterdir()) == []
    assert service_picture.write("A shop", []) == service_picture.NONE
