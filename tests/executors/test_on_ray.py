"""Pipelines on a Ray cluster of two nodes that these tests start."""

from __future__ import annotations

import builtins
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock.executors import on_ray
from penstock.executors.in_place import STORE_SHARE, results_in_place
from penstock.testing.executors import CHECKS, DEATH_CHECKS
from tests.frameworks import when_used
from tests.storage.remote.object_server import Running

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
for name, value in {
    "period_ms": "300",
    "timeout_ms": "1000",
    "failure_threshold": "5",
    "initial_delay_ms": "0",
}.items():
    os.environ.setdefault(f"RAY_health_check_{name}", value)
ray = when_used("ray")

# the cluster starts its processes by a fork, of which JAX warns where another test has loaded it
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*os.fork"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
D = ps.Dataset
NODE = {"num_cpus": 1, "object_store_memory": 80 << 20}


@pytest.fixture(scope="module")
def cluster():
    cluster_utils = pytest.importorskip("ray.cluster_utils")
    printing = builtins.print  # which Ray replaces once a process of its writes a line
    head = {**NODE, "num_cpus": 0, "include_dashboard": False}
    made = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
    made.add_node(**NODE)
    made.add_node(**NODE)
    ray.init(address=made.address, logging_level="error", log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()
    builtins.print = printing


@pytest.fixture
def executor(cluster):
    with ps.executors.ray() as made:
        yield made


def by(ds, executor):
    return ds.with_options(ps.Options(executor=executor))


@pytest.mark.parametrize("check", CHECKS + DEATH_CHECKS, ids=lambda check: check.__name__)
def test_the_executor_passes_every_check(check, executor):
    check(executor)


def test_the_name_uses_the_cluster_that_the_process_is_connected_to(cluster):
    pids = {int(pid) for pid in by(D.range(64).map(lambda x: os.getpid()), "ray")}
    assert os.getpid() not in pids
    assert ps.executors.ray().workers == 2
    assert ps.executors.ray(num_cpus=0.5).workers == 4


def test_elements_can_be_written_to_as_inline(executor):
    ds = D.range(6).map(lambda x: {"image": np.full((100, 100), x), "text": "a"})
    for element in by(ds, executor):
        element["image"] += 1
    for batch in by(ds.batch(3), executor):
        batch["image"] += 1


def test_batches_stay_in_the_store_until_their_last_view_is_gone(executor):
    ds = by(D.range(12).map(lambda x: np.full(1 << 20, x, np.uint8)).batch(2), executor)
    with ds.iterator() as it:
        batch = next(it)
        view = batch[1, :10]
        assert results_in_place().nbytes >= 2 << 20
        del batch
        kept = [batch.copy() for batch in it]
    assert view.tolist() == [1] * 10
    view += 1
    assert [made[:, -1].tolist() for made in kept] == [[low, low + 1] for low in range(2, 12, 2)]
    del view
    assert results_in_place().nbytes == 0


def test_a_consumer_that_keeps_every_batch_leaves_the_store_its_room(executor):
    capacity = NODE["object_store_memory"]
    ds = by(D.range(30).map(lambda x: np.full(4 << 20, x, np.uint8)), executor)
    kept = list(ds)
    assert sum(each.nbytes for each in kept) > capacity
    assert results_in_place().nbytes <= capacity // STORE_SHARE
    assert [int(each[-1]) for each in kept] == list(range(30))


def test_an_exception_keeps_its_class_and_what_it_holds(executor):
    class TwoArgumentsError(Exception):
        def __init__(self, one, two):
            super().__init__(f"{one} {two}")
            self.two = two

        def __reduce__(self):
            return TwoArgumentsError, (self.args[0].split()[0], self.two)

    def fails(x):
        raise TwoArgumentsError("row", int(x))

    with pytest.raises(TwoArgumentsError) as caught:
        list(by(D.range(3).map(fails), executor))
    assert caught.value.two == 0


def test_an_element_that_ends_its_worker_is_skipped_if_the_policy_says_so(executor):
    ds = D.range(12).map(lambda x: os._exit(3) if x == 5 else x, on_error=ps.on_error.skip())
    assert list(by(ds, executor)) == [*range(5), *range(6, 12)]


def test_workers_killed_from_outside_change_nothing(executor, tmp_path):
    killed = tmp_path / "killed"

    def once(x):
        if x in (10, 30) and not Path(f"{killed}{x}").exists():
            Path(f"{killed}{x}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return x * 2

    it = by(D.range(50).map(once).batch(5), executor).iterator()
    assert [batch.tolist() for batch in it] == [list(range(start, start + 10, 2)) for start in range(0, 100, 10)]
    assert len(it.stats().events) >= 2


@pytest.mark.parametrize("what", ["node", "raylet"])
def test_a_node_that_dies_changes_nothing(cluster, executor, what):
    node = cluster.add_node(**NODE)
    ds = D.range(60).map(lambda x: (time.sleep(0.02), np.full(1000, x))[1])
    received = []
    with by(ds, executor).iterator() as it:
        for element in it:
            received.append(int(element[0]))
            if len(received) == 10 and what == "raylet":
                for each in node.all_processes["raylet"]:
                    each.process.kill()
            elif len(received) == 10:
                cluster.remove_node(node, allow_graceful=False)
    assert received == list(range(60))
    if what == "raylet":
        cluster.remove_node(node, allow_graceful=False)  # what is left of it
    cluster.wait_for_nodes()  # until the loss is known


def node_id():
    import ray

    return ray.get_runtime_context().get_node_id()


def test_calls_of_a_place_run_on_one_node(executor):
    nodes = [{executor.submit_near(place, node_id).result() for _ in range(5)} for place in (4, 5)]
    assert [len(each) for each in nodes] == [1, 1]
    assert nodes[0] != nodes[1]


def test_a_place_whose_node_is_lost_has_another(cluster, executor):
    node = cluster.add_node(**NODE)
    ran_on = {executor.submit_near(place, node_id).result() for place in range(3)}
    assert node.node_id in ran_on
    cluster.remove_node(node, allow_graceful=False)
    with suppress(ps.executors.LostWorkerError):  # not noticed yet
        assert executor.submit_near(3, node_id).result() in ran_on
    calls = [executor.submit_near(place, len, "ab") for place in range(8)]
    assert {call.exception() and type(call.exception()) for call in calls} <= {None, ps.executors.LostWorkerError}
    cluster.wait_for_nodes()


def once_kept(row):
    """The length of a row, and the folder of caches, once the threads have ended that keep what they have read."""
    for thread in threading.enumerate():
        if thread.name == "penstock-fetch":
            thread.join()
    return len(row), os.environ["XDG_CACHE_HOME"]


def test_later_epochs_read_what_the_nodes_have_kept(cluster, tmp_path, monkeypatch):
    pytest.importorskip("obstore")
    monkeypatch.setattr("penstock.engine.workers.handed_in.workers.STRETCH", 4000)
    monkeypatch.setattr("penstock.engine.tuning.tuner.FAR_TASK", 1)  # ns: each batch is a task, however fast,
    monkeypatch.setattr("penstock.engine.tuning.tuner.FAR_PIECE", 1 << 62)  # or slow, it is made
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "here"))
    folder = tmp_path / "store" / "data"
    folder.mkdir(parents=True)
    (folder / "rows.bin").write_bytes(bytes(range(250)) * 160)
    kept = [str(tmp_path / name) for name in ("one", "two")]
    nodes = [cluster.add_node(**NODE, resources={"keeps": 1}, env_vars={"XDG_CACHE_HOME": path}) for path in kept]
    with Running(str(folder.parent)) as server:
        options = {
            "key": "a", "secret": "b", "endpoint_url": f"http://127.0.0.1:{server.port}", "region": "us-east-1",
        }  # fmt: skip
        ds = ps.read_fixed_length("s3://data/rows.bin", 100, storage_options=options)
        ds = ds.map(once_kept).batch(10)
        ds = ds.with_options(ps.Options(executor=ps.executors.ray(resources={"keeps": 1}, workers=1)))
        first = [batch[1].tolist() for batch in ds.iterator(epoch=0)]
        assert {name for names in first for name in names} == set(kept)
        server.told()
        assert [batch[1].tolist() for batch in ds.iterator(epoch=1)] == first
        assert server.stats.gets == 0
    for node in nodes:
        cluster.remove_node(node)
    cluster.wait_for_nodes()


def asked_of_the_autoscaler():
    """The tasks for which the cluster has been asked to have room."""
    from ray.experimental.internal_kv import _internal_kv_get

    return json.loads(_internal_kv_get("autoscaler_resource_request") or "[]")


@pytest.fixture
def autoscaler(cluster, tmp_path):
    """Ray's autoscaler, for which this machine is a cloud that has room for one more node."""
    of_worker = {"CPU": 1, "object_store_memory": NODE["object_store_memory"]}
    nothing = ("initialization_commands", "setup_commands", "head_setup_commands", "worker_setup_commands")
    config = {
        "cluster_name": "tests",
        "provider": {
            "type": "fake_multinode", "use_node_id_as_ip": True, "disable_node_updaters": True,
            "disable_launch_config_check": True, "gcs_address": cluster.address,
            "head_node_id": cluster.head_node.node_id,
        },
        "available_node_types": {
            "head": {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0},
            "worker": {"resources": of_worker, "node_config": {}, "min_workers": 0, "max_workers": 1},
        },
        "head_node_type": "head", "max_workers": 1, "idle_timeout_minutes": 0.02, "upscaling_speed": 1.0,
        "auth": {}, "docker": {}, "file_mounts": {}, "file_mounts_sync_continuously": False,
        **{name: [] for name in (*nothing, "head_start_ray_commands", "worker_start_ray_commands")},
        **{name: [] for name in ("cluster_synced_files", "rsync_exclude", "rsync_filter")},
    }  # fmt: skip
    path = tmp_path / "autoscaling.json"
    path.write_text(json.dumps(config))
    settings = {"RAY_FAKE_CLUSTER": "1", "AUTOSCALER_UPDATE_INTERVAL_S": "1", "RAY_AUTOSCALER_FATESHARE_WORKERS": "1"}
    monitor = pytest.importorskip("ray.autoscaler._private.monitor").__file__
    told = [f"--gcs-address={cluster.address}", f"--autoscaling-config={path}", f"--logs-dir={tmp_path}"]
    process = subprocess.Popen([sys.executable, monitor, *told], env={**os.environ, **settings})
    try:
        yield
    finally:
        process.terminate()  # and with it the node, if any
        try:
            process.wait(30)
        finally:
            process.kill()


def test_the_autoscaler_brings_a_node_that_is_used_and_given_back(cluster, autoscaler):
    executor = ps.executors.ray(max_cpus=3, resources={"extra": 0})
    before = executor.workers
    ds = by(D.counter().map(lambda x: (time.sleep(0.05), x)[1]), executor)
    with ds.iterator() as it:
        while it.stats().workers <= before:
            next(it)
        assert len(asked_of_the_autoscaler()) == 3
    assert asked_of_the_autoscaler() == []
    cluster.wait_for_nodes()  # until it is gone
    assert executor.workers == before


class Refusing:
    """Ray where no cluster takes this process."""

    def __init__(self, error):
        self.error = error

    def is_initialized(self):
        return False

    def init(self, **settings):
        raise self.error


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            ConnectionError("nobody\nanswers."),
            r"no Ray cluster could be reached at 'h:1': .*nobody answers\. Start one",
        ),
        (
            RuntimeError("Version mismatch: The cluster was started with:\n  Ray: 1\n  Python: 3.9.1\n"),
            "has other versions: The cluster was started with: Ray: 1 Python: 3.9.1. Install the same versions",
        ),
    ],
    ids=["none", "versions"],
)
def test_a_cluster_that_cannot_be_used_is_one_sentence(error, says, monkeypatch):
    monkeypatch.setattr(on_ray, "_reach", lambda address: None)
    with pytest.raises(ps.errors.WorkerError, match=says):
        on_ray._connect(Refusing(error), "h:1")


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_where_nobody_answers_is_said_at_once(scheme):
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))  # and does not listen
        address = f"{scheme}127.0.0.1:{own.getsockname()[1]}"
        with pytest.raises(ps.errors.WorkerError, match=r"could be reached at .* refused\. Start one"):
            on_ray._connect(Refusing(AssertionError("asked Ray")), address)


class Connected:
    """Ray that is connected to a cluster of its own after each `init`."""

    def __init__(self):
        self.number = 0
        self.is_open = False

    def is_initialized(self):
        return self.is_open

    def init(self, **settings):
        self.number += 1
        self.is_open = True

    def get_runtime_context(self):
        return self

    def get_job_id(self):
        return "1"

    def get_node_id(self):
        return str(self.number)

    def remote(self, **settings):
        return lambda function: function


def test_a_new_run_connects_again_after_the_connection_was_ended(monkeypatch):
    found = Connected()
    monkeypatch.setattr(on_ray, "require", lambda *_, **__: found)
    first = on_ray.default_executor()
    assert on_ray.default_executor() is first
    found.is_open = False
    with pytest.raises(ps.errors.WorkerError, match=r"ended by ray.shutdown\(\): .* make a new executor with"):
        _ = first.workers
    assert on_ray.default_executor() is not first
    assert found.number == 2
    on_ray._executor_of.cache_clear()


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"num_cpus": "2"}, TypeError, r"executors\.ray\(num_cpus='2'\): expected a number, not str"),
        ({"num_cpus": 1.5}, ValueError, r"num_cpus=1\.5\): expected a whole number, or one below 1"),
        ({"num_cpus": float("nan")}, ValueError, r"num_cpus=nan\): expected a finite number"),
        ({"resources": ["x"]}, TypeError, r"resources=\['x'\]\): expected a dict, not list"),
        ({"resources": {"x": "a"}}, TypeError, r"resources\['x'\]='a'\): expected a number, not str"),
        ({"resources": {"x": -1}}, ValueError, r"resources\['x'\]=-1\): expected a finite number, not below 0"),
        ({"resources": {3: 1}}, TypeError, r"resources=3\): expected a string, not int"),
        ({"resources": {"CPU": 1}}, ValueError, r"CPUs are num_cpus="),
        ({"address": 6379}, TypeError, r"address=6379\): expected a string, not int"),
        ({"workers": 0}, ValueError, r"workers=0\): expected at least 1"),
        ({"max_cpus": -1}, ValueError, r"max_cpus=-1\): expected a finite number, not below 0"),
    ],
)
def test_wrong_arguments_are_refused(given, error, says):
    with pytest.raises(error, match=says):
        ps.executors.ray(**given)


def test_nothing_is_asked_of_the_autoscaler_without_leave(executor):
    executor.scale(object(), 5)
    assert asked_of_the_autoscaler() == []


def test_requests_of_runs_add_up_to_the_most_allowed(cluster):
    executor = ps.executors.ray(num_cpus=2, max_cpus=9)
    one, other = object(), object()
    counts = []
    for run, workers in [(one, 1), (other, 2), (other, 50), (one, 0), (other, 0)]:
        executor.scale(run, workers)
        counts.append(len(asked_of_the_autoscaler()))
    assert counts == [1, 3, 4, 4, 0]


def test_no_more_is_made_ahead_than_the_budget_allows(cluster, tmp_path):
    def element(x):
        (tmp_path / str(x)).touch()
        return np.full(1 << 20, x, np.uint8)

    budget = 6
    ds = D.range(40).map(element)
    options = ps.Options(executor=ps.executors.ray(num_cpus=0.25), memory_budget=budget << 20)
    with ds.with_options(options).iterator() as it:
        for received, found in enumerate(it, 1):
            assert found[0] == received - 1
            assert len(list(tmp_path.iterdir())) <= received + budget


def test_an_iterator_that_is_closed_early_leaves_the_executor_usable(executor):
    with by(D.range(1000).map(lambda x: x + 1), executor).iterator() as it:
        next(it)
    assert executor.submit(len, "abc").result() == 3


def test_an_executor_that_was_shut_down_says_so(cluster):
    executor = ps.executors.ray()
    executor.shutdown()
    with pytest.raises(ps.errors.WorkerError, match=r"accepted no task .* after shutdown"):
        list(by(D.range(3).map(abs), executor))


def test_a_state_saved_on_the_cluster_continues_inline(executor):
    ds = D.range(100).shuffle(seed=1).map(lambda x: x + 1)
    with by(ds, executor).iterator(epoch=0) as it:
        first = [int(next(it)) for _ in range(30)]
        state = it.state_dict()
    with ds.iterator(epoch=0) as it:
        it.load_state_dict(state)
        assert first + list(map(int, it)) == list(map(int, ds.iterator(epoch=0)))
