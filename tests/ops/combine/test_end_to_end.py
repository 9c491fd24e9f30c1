from __future__ import annotations

import pytest

from penstock import Dataset, Options

PLAIN = Options(rewrite=False)


@pytest.mark.parametrize("sizes", [(3, 2, 4), (0, 0, 5), (2, 0, 3), (1, 0, 0), (0, 1, 0, 2)])
@pytest.mark.parametrize("stream", [False, True])
def test_a_merged_chain_yields_the_same_as_nested_concatenations(sizes, stream):
    def made(options):
        parts = [Dataset.range(10 * at, 10 * at + size).shuffle(seed=at) for at, size in enumerate(sizes)]
        ds = parts[0]
        for part in parts[1:]:
            ds = ds.concatenate(part.filter(lambda x: x >= 0) if stream else part)
        return [list(map(int, ds.with_options(options).iterator(epoch=epoch))) for epoch in range(3)]

    assert made(Options()) == made(PLAIN)


def test_the_last_input_of_a_chain_may_be_endless():
    ds = Dataset.range(2).concatenate(Dataset.range(3)).concatenate(Dataset.range(4).repeat())
    assert list(ds.take(11)) == [0, 1, 0, 1, 2, 0, 1, 2, 3, 0, 1]
    assert "concatenate(3 datasets)" in ds.explain()
