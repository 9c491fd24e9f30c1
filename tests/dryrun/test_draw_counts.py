"""The counts drawn of each input of a mixture, if only running some of them tells."""

from __future__ import annotations

import pytest

from penstock import Dataset, Options

A, B = Dataset.range(60).shuffle(seed=1), Dataset.range(100, 400).shuffle(seed=2)
sample = Dataset.sample_from_datasets


def streams_of(kind):
    """Two datasets, at least one of them a stream, and what their elements are apart from the order."""
    third = [ds.filter(lambda x: x % 3 > 0) for ds in (A, B)]
    return {
        "both of unknown length": third,
        "one of known length": [A, third[1]],
        "one that never ends": [third[0], Dataset.range(100, 400).repeat().filter(lambda x: x % 3 > 0)],
        "one that is empty": [A.filter(lambda x: x < 0), third[1]],
        "drawing at random": [A.filter(lambda x, *, rng: rng.random() < 0.5), third[1].shuffle(7)],
    }[kind]


@pytest.mark.parametrize(
    "kind",
    ["both of unknown length", "one of known length", "one that never ends", "one that is empty", "drawing at random"],
)
@pytest.mark.parametrize("weights", [[1, 3], {0: [9, 1], 30: [1, 1], 50: [0, 1], 60: [1, 0]}, "data", "choices"])
@pytest.mark.parametrize("epoch", [0, 2])
def test_counts_of_ending_streams_are_found_by_running_the_streams(kind, weights, epoch):
    members = streams_of(kind)
    if weights == "choices":
        old = Dataset.choose_from_datasets(
            members, Dataset.random(seed=4).map(lambda x: x % 2).take(500), stop_on_empty_dataset=False
        )
    else:
        given = Dataset.random(seed=4).map(lambda x: [x % 5, 2]).take(500) if weights == "data" else weights
        old = sample(members, given, seed=5, rerandomize_each_iteration=True)
    old = old.with_options(Options(seed=11))
    for count in (0, 1, 40, 130, 221):
        made = [int(x) for x in old.take(count).iterator(epoch=epoch)]
        if len(made) < count:
            with pytest.raises(ValueError, match=f"the mixture has {len(made)} elements"):
                old.draw_counts(count, epoch=epoch)
        else:
            assert old.draw_counts(count, epoch=epoch) == [sum(x < 100 for x in made), sum(x >= 100 for x in made)]


def test_only_inputs_of_unknown_length_are_run_and_no_further_than_drawn():
    asked = []

    def noted(x):
        asked.append(int(x))
        return True

    members = [Dataset.range(10_000).filter(noted), Dataset.range(10**9, 10**9 + 10**6).map(lambda x: 1 / 0)]
    mix = sample(members, [1, 9], seed=1).with_options(Options(executor="inline"))
    assert sum(mix.draw_counts(1000)) == 1000
    assert 0 < len(asked) < 2000
