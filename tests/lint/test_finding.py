"""Findings: the message for a likely mistake."""

from __future__ import annotations

from penstock import Dataset
from penstock.lint.finding import Finding


def finding(plan, message="shuffle() comes last"):
    return Finding("PS101", "shuffle()", message, True, "It is so.", plan)


def test_the_text_of_a_finding_is_its_code_and_message():
    assert str(finding(Dataset.range(3)._plan)) == "PS101: shuffle() comes last"


def test_findings_of_the_same_in_different_plans_are_equal():
    one, other = Dataset.range(3)._plan, Dataset.range(4)._plan
    assert finding(one) == finding(other)
    assert finding(one) != finding(one, "something else")
    assert "node" not in repr(finding(one))


def test_the_line_and_the_reason_and_the_change_are_told():
    (found,) = Dataset.range(9).repeat(2).cache().check().findings
    assert found.message == f"{found.reason}; {found.change}"
    assert found.change == "write .cache() before .repeat(2)"
    name, _, line = found.line.rpartition(":")
    assert __file__.endswith(name)
    assert int(line) == test_the_line_and_the_reason_and_the_change_are_told.__code__.co_firstlineno + 1
    assert found.lines == [str(found), f"  at {found.line}"]  # pytest compiles this file in another way


def test_a_fix_is_promised_only_where_it_will_be_written(tmp_path):
    file = tmp_path / "promised.py"
    text = "from penstock import Dataset\n\ndef made():\n    return Dataset.range(9).repeat(2).cache()\n"

    def told(text):
        file.write_text(text)
        names = {"__name__": "promised"}
        exec(compile(text, str(file), "exec", dont_inherit=True), names)
        (found,) = names["made"]().check().findings
        assert found.fix is not None
        return found.lines[1]

    assert told(text).endswith("; `penstock check --fix` writes it: all elements are the same")
    assert told(text.replace("made()", "made(count=2)").replace("repeat(2)", "repeat(count)")).endswith("promised.py:4")
    assert told(
        text.replace("repeat(2)", "repeat(2)  # why\n    # why not\n")
        .replace("return ", "return (")
        .replace("cache()", "cache())")
    ).endswith("promised.py:6")


def test_code_without_a_file_has_no_line():
    names = {"D": Dataset}
    exec("ds = D.range(9).repeat(2).cache()", names)
    (found,) = names["ds"].check().findings
    assert found.line == ""
    assert found.lines == [str(found)]
