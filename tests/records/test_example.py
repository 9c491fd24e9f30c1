"""Results of `parse_example` and `parse_sequence_example` for each feature, frozen from TensorFlow's own results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import penstock as ps
from tests.records.cases import Case, draw_case, draw_sequence_case, plain

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "examples.json").read_text())


@pytest.mark.parametrize("frozen", GOLDEN, ids=lambda frozen: f"{frozen['parse']}-{frozen['seed']}")
def test_results_equal_those_of_tensorflow(frozen: dict) -> None:
    case = (draw_case if frozen["parse"] == "example" else draw_sequence_case)(frozen["seed"])
    assert [record.hex() for record in case.records] == frozen["records"]
    parse = parser_of(case)
    assert as_json(parse, case.records) == frozen["batch"]
    assert [as_json(parse, record) for record in case.records] == frozen["single"]


def parser_of(case: Case):
    if case.lists is None:
        return ps.records.parse_example(case.features)
    return ps.records.parse_sequence_example(case.features, case.lists)


def as_json(parse, given):
    try:
        return json.loads(json.dumps(plain(parse(given))))
    except ps.errors.DataError:
        return None


@pytest.mark.parametrize("features", [None, [("x", 1)], {3: ps.records.VarLenFeature("int64")}])
def test_features_are_a_dict_of_names(features) -> None:
    with pytest.raises(TypeError, match=r"parse_example"):
        ps.records.parse_example(features)


def test_context_or_sequences_may_be_omitted() -> None:
    record = ps.records.encode_sequence_example({"u": 1}, {"s": [[2]]})
    context = ps.records.parse_sequence_example({"u": ps.records.FixedLenFeature([], "int64")})
    assert context(record) == ({"u": 1}, {})
    lists = ps.records.parse_sequence_example(sequence_features={"s": ps.records.FixedLenSequenceFeature([1], "int64")})
    assert lists(record)[1]["s"].tolist() == [[2]]
    with pytest.raises(ps.errors.PlanError, match="no features"):
        ps.records.parse_sequence_example()
