"""What is written to this machine only refuses URLs, which it would take for folders."""

from __future__ import annotations

import pytest

import penstock as ps

URL = "s3://bucket/name.html"
D = ps.Dataset


@pytest.mark.parametrize(
    "use",
    [
        lambda: D.range(3).iterator().report(URL),
        lambda: D.range(3).iterator().trace(URL),
        lambda: D.range(3).iterator().to_tensorboard(URL),
        lambda: D.range(3).describe(checkpoint=URL),
        lambda: D.range(3).map(abs, on_error=ps.on_error.skip(quarantine=URL)),
        lambda: D.range(3).ignore_errors(quarantine=URL),
    ],
)
def test_urls_are_refused(use, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="expected a path of this machine, not a URL"):
        use()
    assert list(tmp_path.iterdir()) == []
