from __future__ import annotations

import json

from penstock.plan.failed import UNTOLD, Failure


def test_a_failure_in_a_batch_names_its_place_there():
    failure = Failure(0, 7, "map(f)", "ValueError", "bad", ("a.bin", "b.bin"), "", part=(2, 0))
    assert str(failure) == "element 0 of element 2 of row 7 (a.bin, b.bin): ValueError: bad"


def test_the_line_of_a_failure_is_json_and_has_a_part_only_where_there_is_one():
    whole = UNTOLD._replace(row=3)
    assert json.loads(json.dumps(whole.line(1)))["row"] == 3
    assert "part" not in whole.line(1)
    assert whole._replace(part=(4,)).line(1)["part"] == [4]
