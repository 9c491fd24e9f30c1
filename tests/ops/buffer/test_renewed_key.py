"""The key of a cache on disk is that of the pipeline as it is when the first element is read."""

import cloudpickle
import pytest

from penstock.core.errors import CacheWarning, PlanError
from tests.ops.buffer.kept import INLINE, Dataset


def test_what_a_function_reads_counts_as_it_is_when_the_first_row_is_made(tmp_path):
    factor = 1
    early = Dataset.range(4).map(lambda x: int(x) * factor).cache(tmp_path).with_options(INLINE)
    factor = 2
    assert list(early) == [0, 2, 4, 6]
    factor = 1
    again = Dataset.range(4).map(lambda x: int(x) * factor).cache(tmp_path).with_options(INLINE)
    with pytest.warns(CacheWarning, match=r"factor \(closed over by lambda\) is 1 and was 2"):
        assert list(again) == [0, 1, 2, 3]


def test_what_a_function_reads_counts_as_it_is_when_a_stream_is_first_read(tmp_path):
    factor = 1

    def stream():
        return Dataset.range(4).filter(lambda x: x != 1).map(lambda x: int(x) * factor).cache(tmp_path)

    early = stream().with_options(INLINE)
    factor = 2
    assert list(early) == [0, 4, 6]
    assert len(stream()) == 3
    factor = 1
    with pytest.warns(CacheWarning, match=r"factor \(closed over by lambda \(2\)\) is 1 and was 2"):
        assert list(stream().with_options(INLINE)) == [0, 2, 3]


def test_a_stream_that_was_whole_and_changes_before_it_is_read_is_refused(tmp_path):
    factor = 1

    def stream():
        return Dataset.range(4).filter(lambda x: x > factor).cache(tmp_path)

    assert list(stream().with_options(INLINE)) == [2, 3]
    whole = stream().shuffle(seed=0).with_options(INLINE)
    assert len(whole) == 2
    factor = 0
    with pytest.raises(PlanError, match=r"factor \(closed over by lambda\) is 0 and was 1, .* cache\(\) again"):
        list(whole)
    factor = 1
    assert sorted(whole) == [2, 3]


@pytest.mark.parametrize("stream", [False, True])
def test_a_copy_in_another_process_has_the_key_of_what_was_copied(tmp_path, stream):
    factor = 1
    made = Dataset.range(4).filter(lambda x: x != 1) if stream else Dataset.range(4)
    ds = made.map(lambda x: int(x) * factor).cache(tmp_path).with_options(INLINE)
    expected = [0, 4, 6] if stream else [0, 2, 4, 6]
    factor = 2
    assert list(cloudpickle.loads(cloudpickle.dumps(ds))) == expected
    factor = 1
    again = made.map(lambda x: int(x) * factor).cache(tmp_path).with_options(INLINE)
    with pytest.warns(CacheWarning, match=r"is 1 and was 2"):
        assert list(again) == [x // 2 for x in expected]
