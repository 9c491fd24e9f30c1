"""The workload `feed` of the benchmarks, with little data: contenders do the same work, and other work is noticed."""

from __future__ import annotations

from importlib import import_module
from itertools import islice, repeat

import pytest

from bench import data, table
from bench.contenders.limit.feed import made
from bench.contenders.stepping import Stepping
from bench.harness import Result, value
from bench.tally import Tally
from bench.workloads import feed

CONTENDERS = [
    (framework, contender.label)
    for framework in ("torch", "jax")
    for contender in feed.make(framework, framework).contenders
    if contender.side in ("limit", "penstock", "torch")
]


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Data of 12 images of 16 × 16, in batches of 4."""
    for name, setting in {"IMAGES": 12, "SIZE": 16, "BATCH": 4, "WIDTHS": (4, 8)}.items():
        monkeypatch.setattr(feed, name, setting)
    monkeypatch.setattr(data, "DATA", tmp_path)
    monkeypatch.setattr(feed, "LOW", pytest.approx(-2, abs=0.1))  # few pixels: the darkest need not be 0
    monkeypatch.setattr(feed, "HIGH", pytest.approx(2, abs=0.1))
    feed.prepare()


def built(framework, label, **options):
    """Return the job and the function that runs a contender in this process."""
    pytest.importorskip("torch")  # the contenders of one framework may deliver to the other
    pytest.importorskip(framework)
    job = feed.make(framework, framework)
    contender = next(contender for contender in job.contenders if contender.label == label)
    module = import_module(f"bench.contenders.{contender.side}.{contender.module}")
    return job, module.build({**job.options, **contender.options, **options})


@pytest.mark.parametrize(("framework", "label"), CONTENDERS)
def test_each_contender_trains_with_every_image_once_in_an_epoch(small, framework, label):
    job, run = built(framework, label)
    for number in range(2):
        tally = Tally(thorough=True)
        run(tally, number)
        assert job.check(label, tally.checks()) == []
        assert tally.rows == 3


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_an_image_in_two_steps_of_an_epoch_is_other_work(small, framework):
    pytest.importorskip(framework)
    job = feed.make(framework, framework)
    stepping = Stepping(dict(job.options))
    tally = Tally(thorough=True)
    stepping.over(repeat(next(stepping.placed(made(dict(job.options))))))(tally, 0)
    assert job.check("Penstock", tally.checks()) == ["4 different records, 3 to 3 times each"]


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_a_step_is_compared_with_one_that_takes_the_same_batch_again(small, framework):
    _, run = built(framework, "Penstock")
    tally = Tally(thorough=False)
    run(tally, 0)
    assert set(tally.extra) == {"step"}
    run(tally, 1)
    assert min(tally.extra["step"], tally.extra["replayed"]) > 0
    job = feed.make(framework, framework)
    assert value(job, {"extra": {"step": 0.03, "replayed": 0.02}}) == pytest.approx(1.5)


def test_labels_of_other_images_are_noticed(small):
    pytest.importorskip("torch")
    options = dict(feed.make("torch", "PyTorch").options)
    batches = list(islice(made(options), 3))
    stepping = Stepping(options)
    turned = [{**batch, "label": batch["label"] + 1} for batch in batches]
    stepping.over(stepping.placed(batches))(Tally(thorough=True), 0)
    with pytest.raises(ValueError, match="labels of other images"):
        stepping.over(stepping.placed(turned))(Tally(thorough=True), 0)


def test_a_contender_with_another_version_of_the_framework_is_refused(small):
    with pytest.raises(RuntimeError, match=r"torch .* instead of 1\.0"):
        built("torch", "Penstock", version="1.0")


def test_a_ratio_near_its_target_has_three_decimals():
    job = feed.make("torch", "PyTorch")
    by_hand = Result("by hand", "limit", values=[1.1], extra={"step": 0.022})
    ours = Result("Penstock", "penstock", values=[1.0218], extra={"step": 0.02043})
    assert [row[1:] for row in table.rows(job, [by_hand, ours])] == [
        ("22 ms", "0 %", "1.100"),
        ("20.4 ms", "0 %", "1.022"),
    ]
    assert table.verdicts(job, [by_hand, ours]) == ["Penstock: 1.022 × replayed (target ≤ 1.02: missed)"]
