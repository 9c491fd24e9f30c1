"""If TensorFlow can be imported, random examples give its results; `golden/examples.json` stores some of them."""

from __future__ import annotations

import json

import pytest

import penstock as ps
from tests.frameworks import when_used
from tests.records import tensorflow_results
from tests.records.cases import draw_case, draw_sequence_case, plain
from tests.records.test_example import parser_of

tf = when_used("tensorflow")


@pytest.mark.parametrize("draw", [draw_case, draw_sequence_case])
@pytest.mark.parametrize("batch", [False, True])
def test_random_examples_give_the_results_of_tensorflow(draw, batch: bool) -> None:
    for seed in range(60):
        case = draw(seed)
        theirs = tensorflow_results.parsed(tf, case, batch=batch)
        said = ""
        try:
            parse = parser_of(case)
            ours = plain(parse(case.records)) if batch else [plain(parse(record)) for record in case.records]
        except ps.errors.DataError as error:
            ours, said = None, str(error)
        if theirs is None or "not divided" in said:
            continue  # it refuses some records that say less than they might, and cuts where rows do not come out even
        if "is missing" in said and any(0 in getattr(each, "shape", ()) for each in case.features.values()):
            continue  # of no kind is missing, but there not in the context of a sequence, where it has no values then
        assert json.dumps(ours, sort_keys=True) == json.dumps(theirs, sort_keys=True), seed
