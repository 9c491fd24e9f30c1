"""The digest by which streams of files are known."""

from __future__ import annotations

from penstock.sources.stream import content_of_files


def test_it_goes_by_the_content_of_the_files_in_their_order(tmp_path):
    paths = [str(tmp_path / name) for name in "abc"]
    for path, content in zip(paths, ("one", "two", "one"), strict=True):
        with open(path, "w") as file:
            file.write(content)
    a, b, c = paths
    assert content_of_files([a, b]) == content_of_files([c, b])
    assert len({content_of_files(each) for each in ([], [a], [b], [a, b], [b, a])}) == 5
