"""The end of the runs under way in a service."""

from penstock.service.lanes import Lanes


class Recorded:
    """A lane, and a run of its own that only notes that it is closed."""

    def __init__(self):
        self.run, self.is_closed, self.ended = self, False, 0

    def close(self):
        self.ended += 1


def test_closing_ends_every_run_once():
    lanes, two = Lanes(), [Recorded(), Recorded()]
    lanes._lanes += two
    lanes.close()
    lanes.close()
    assert [(lane.is_closed, lane.ended) for lane in two] == [(True, 1), (True, 1)]
