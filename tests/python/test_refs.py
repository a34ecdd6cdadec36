"""Objects that stay in workers: Refs, actors, and what becomes of them."""

import asyncio
import collections
import json
import os
import signal
import subprocess
import sys
import threading
import time

import cloudpickle
import hotplate as hp
import numpy as np
import pytest
from conftest import BIN, PATIENCE, wait_until

# Not by their names: the workers are not to import this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])
pytestmark = pytest.mark.usefixtures("nothing_of_a_test_goes_on")


class Model:
    def __init__(self, weight=3):
        self.weight = weight
        self.calls = []

    def scaled(self, x):
        return self.weight * x

    def note(self, one):
        self.calls.append(one)

    def noted(self):
        return list(self.calls)


def held():
    """What the worker that runs this keeps for clients."""
    import gc
    return sorted(type(one).__name__ for calls in gc.get_objects() if type(calls).__name__ == "Calls"
                  for one in calls.objects.values())


def workers_of(gpu):
    return sum(device["workers"] for device in gpu.info()["devices"])


def pid():
    return os.getpid()


@pytest.fixture
def make(gpu):
    return gpu.function(Model)


@pytest.fixture
def other_session(daemon):
    with daemon.connect() as client:
        yield client


# What stays, and how it is named.

def test_an_object_stays_in_its_worker_and_arrives_there_as_itself(gpu, make):
    model = make(5)
    assert isinstance(model, hp.Ref) and model.type.endswith("Model")
    assert repr(model) == f"<hotplate.Ref of a {model.type} in worker {model.worker} of local>"
    assert model.receipt.kernel == "function"
    where, value, same = gpu.function(lambda model, more: (os.getpid(), model.scaled(2), model is more["it"][0]))(
        model, {"it": [model]})
    assert (where, value, same) == (model.worker, 10, True)


def test_refs_come_inside_of_containers_and_once_each(gpu):
    def make():
        one, two = Model(1), Model(2)
        return {"pair": (one, two), "again": [one], "number": 3, "array": np.arange(3)}
    came = gpu.function(make)()
    assert came["pair"][0] is came["again"][0] and came["pair"][0] is not came["pair"][1]
    assert came["number"] == 3 and came["array"].tolist() == [0, 1, 2]
    assert gpu.function(lambda one, two: one.weight + two.weight)(*came["pair"]) == 3


def test_an_object_that_comes_back_is_the_same_and_goes_with_its_last_ref(gpu, make):
    model = make()
    gpu.function(Model.note)(model, "before")
    again, is_it = gpu.function(lambda one: (one, one))(model)
    assert again is is_it and again.worker == model.worker
    assert gpu.function(lambda one, two: one is two)(model, again)
    del model, is_it
    assert gpu.function(Model.noted)(again) == ["before"]
    count = gpu.function(lambda one: held().count("Model"))
    assert count(again) == 1
    worker = again.worker
    del again
    wait_until(lambda: gpu.function(lambda: (pid(), held()))() == (worker, []), "the worker let go of it")


@pytest.mark.parametrize("returned", [lambda: len, lambda: Model, lambda: os, lambda: lambda x: x + 1, lambda: object(),
                                      lambda: iter([1]), lambda: collections.OrderedDict(a=1), lambda: ...,
                                      lambda: np.matrix([[1]]), lambda: NotImplemented], ids=range(10))
def test_all_kinds_of_objects_stay(gpu, returned):
    ref = gpu.function(returned)()
    assert isinstance(ref, hp.Ref)
    assert isinstance(gpu.function(lambda one: str(type(one)))(ref), str)


@pytest.mark.parametrize("value", [None, 3, "text", [1, 2], {"a": np.zeros(5)}], ids=str)
def test_anything_stays_by_choice(gpu, value):
    ref = gpu.function(lambda x: x, returns="ref")(value)
    assert isinstance(ref, hp.Ref) and ref.type == type(value).__name__
    came = gpu.function(lambda x: x)(ref)
    np.testing.assert_equal(came, value)


def test_by_choice_the_object_itself_comes_back(gpu, make):
    model = make(7)
    fetched = gpu.function(lambda one: one, returns="object")(model)
    assert type(fetched) is Model and fetched.weight == 7
    with hp.Executor(gpu) as executor:
        assert executor.submit(Model, 8).result(PATIENCE).weight == 8


def test_more_than_a_result_can_name(gpu):
    with pytest.raises(TypeError, match='returned more than 256 objects that stay.*returns="ref"'):
        gpu.function(lambda: [object() for _ in range(257)])()
    many = gpu.function(lambda: [object() for _ in range(256)])()
    with pytest.raises(ValueError, match="more than 63 arrays and Refs among the arguments"):
        gpu.function(len)(many)
    assert gpu.function(len)(many[:63]) == 63


def test_a_thousand_refs_leave_nothing_behind(gpu, make):
    wait_until(lambda: not gpu.arrays, "what others had is freed")
    for _ in range(20):
        list(make.map(range(50)))
    wait_until(lambda: not gpu.arrays, "their arrays are freed")
    # Each worker that any of them was in is asked, as far as it gets one of these calls.
    left = [gpu.submit(held) for _ in range(4 * workers_of(gpu))]
    assert not any("Model" in one.result(PATIENCE) for one in left)


def test_free_by_hand_and_what_is_freed_is_refused(gpu, make):
    model = make()
    model.free()
    with pytest.raises(KeyError):
        model.free()
    with pytest.raises(ValueError, match="was freed"):
        gpu.function(Model.noted)(model)


def test_a_ref_that_is_freed_while_a_call_has_it(gpu, make, tmp_path):
    def wait(model, path):
        import time
        open(path + ".here", "w").close()
        while not os.path.exists(path):
            time.sleep(0.01)
        return model.weight
    model, path = make(4), str(tmp_path / "go")
    future = gpu.submit(wait, model, path)
    wait_until(lambda: os.path.exists(path + ".here"), "it runs")
    model.free()
    open(path, "w").close()
    assert future.result(PATIENCE) == 4
    wait_until(lambda: "Model" not in gpu.function(held)(), "the worker let go of it")


def test_a_ref_is_of_its_process_and_is_no_array(gpu, make):
    import copy
    import pickle
    model = make()
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(model)
    with pytest.raises(TypeError, match="cannot be pickled|cannot be sent"):
        gpu.function(lambda: model)()
    with pytest.raises(TypeError):
        gpu.selu(model)
    assert copy.deepcopy(model) is model


# Where calls run.

def test_refs_of_two_workers_are_refused(gpu, tmp_path):
    def meet(folder, me):
        import time
        open(f"{folder}/{me}", "w").close()
        while len(os.listdir(folder)) < 2:
            time.sleep(0.01)
        return Model(me)
    one, two = gpu.function(meet).map([str(tmp_path)] * 2, range(2))
    assert one.worker != two.worker
    with pytest.raises(ValueError, match=f"worker {two.worker} .*worker {one.worker} |worker {one.worker} .*worker {two.worker} "):
        gpu.function(lambda one, two: None)(one, two)


def test_calls_in_a_row_find_what_they_left(gpu):
    data, model = gpu.function(lambda: object())(), gpu.function(Model)()
    assert gpu.function(lambda one, two: True)(data, model)


def test_a_device_that_contradicts_is_refused(gpu, make):
    model = make()
    assert gpu.function(Model.noted, device="cpu0")(model) == []
    assert gpu.function(Model.noted, device="any")(model) == []
    with pytest.raises(ValueError, match='device is "cpu1".*Model in worker'):
        gpu.function(Model.noted, device="cpu1")(model)


def test_an_interpreter_that_contradicts_is_refused(gpu, make, tmp_path):
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    with pytest.raises(ValueError, match="in a worker of .*; the function has /"):
        gpu.function(Model.noted, python=str(python))(make())


def test_a_changed_environment_here_does_not_matter(gpu, make, monkeypatch):
    model = make(6)
    monkeypatch.setenv("HP_WORD", "new")
    assert gpu.function(lambda one: (one.weight, os.getpid()))(model) == (6, model.worker)


def test_another_session_cannot_name_it(gpu, make, other_session):
    model = make()
    with pytest.raises(TypeError, match=f"session {gpu.session}.*session {other_session.session}"):
        other_session.function(Model.noted)(model)
    stolen = hp.Ref.__new__(hp.Ref)  # what a client of another session would have to send
    stolen.__dict__.update(model.__dict__, _client=other_session, _owned=False)
    with pytest.raises(ValueError, match=f"belongs to session {gpu.session}"):
        other_session.function(Model.noted)(stolen)


def test_another_client_of_the_session_may_use_it(gpu, make, daemon):
    model = make(2)
    with daemon.connect(session=gpu.session) as friend:
        assert friend.function(Model.scaled)(model, 4) == 8


def test_a_ref_of_a_closed_client_or_another_daemon(gpu, daemon, start_daemon):
    gone = daemon.connect()
    model = gone.function(Model)()
    gone.close()
    with pytest.raises(TypeError, match="its client is closed"):
        gpu.function(Model.noted)(model)
    with start_daemon().connect() as elsewhere:
        model = elsewhere.function(Model)()
        with pytest.raises(TypeError, match="is on another daemon"):
            gpu.function(Model.noted)(model)


def test_wants_and_copies_are_for_arrays_alone(gpu, make):
    assert gpu.function(lambda one, x: (x.flags.writeable, one.weight), copy=True)(make(1), np.zeros(3)) == (True, 1)


# Workers that end.

def lost(gpu, model, why):
    def is_lost():
        try:
            gpu.function(Model.noted)(model)
        except hp.RefLost as error:
            assert f"Model in worker {model.worker} on cpu0 is lost" in str(error)
            assert isinstance(error, KeyError) and why in str(error), str(error)
            return True
    wait_until(is_lost, "the ref is lost")


@pytest.mark.parametrize("number, why", [(signal.SIGSEGV, "SIGSEGV"), (signal.SIGKILL, "SIGKILL")])
def test_a_worker_that_crashes_loses_its_refs(gpu, make, number, why):
    model, other = make(), make()
    with pytest.raises(hp.JobFailed, match=why):
        gpu.function(lambda one: os.kill(os.getpid(), number))(model)
    for one in (model, other):
        lost(gpu, one, why)
    assert isinstance(make(), hp.Ref)  # in another worker


def test_a_worker_that_is_killed_while_it_waits(gpu, make):
    model = make()
    os.kill(model.worker, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{model.worker}"), "it ended")
    lost(gpu, model, "SIGKILL")


def test_what_is_freed_stays_for_the_calls_that_were_made(gpu, make):
    model, large = make(4), np.ones(300_000)
    use = gpu.function(lambda one, x: one.weight * x.sum())
    futures = [use.submit(model, large) for _ in range(3)]
    model.free()
    assert [future.result(PATIENCE) for future in futures] == [1_200_000.0] * 3
    with pytest.raises(ValueError, match="was freed"):
        use(model, large)
    with pytest.raises(KeyError, match="freed already"):
        model.free()
    wait_until(lambda: f"'{model._id}'" not in str(gpu._core.arrays()), "it is gone")
    with gpu.actor(Model, 5) as actor:
        futures = [actor.note(i) for i in range(20)]
    assert [future.exception(PATIENCE) for future in futures] == [None] * 20


def test_a_cancel_that_is_heard_loses_nothing(gpu, make):
    def endless(model):
        while True:
            pass

    def nothing_is_lost():
        model = make(9)
        future = gpu.submit(endless, model)
        wait_until(future.running, "it runs")
        future.cancel()
        try:
            with pytest.raises(hp.JobTimeout):
                gpu.function(endless, time_limit=0.2)(model)
            return gpu.function(lambda one: (one.weight, os.getpid()))(model) == (9, model.worker)
        except hp.RefLost:  # on a busy machine it may not hear in time
            return False
    wait_until(nothing_is_lost, "it has heard both interrupts, and its worker stays")


def test_a_cancel_that_has_to_kill_loses_the_refs(gpu, make):
    def deaf(model):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        while True:
            pass
    model = make()
    with pytest.raises(hp.JobTimeout):
        gpu.function(deaf, time_limit=0.2)(model)
    lost(gpu, model, "time limit")


def test_calls_that_wait_for_a_worker_that_crashes(gpu, make):
    def crash(model):
        import time
        time.sleep(0.2)
        os.abort()
    model = make()
    futures = [gpu.submit(crash, model)] + [gpu.submit(Model.noted, model) for _ in range(3)]
    assert isinstance(futures[0].exception(PATIENCE), hp.JobFailed)
    for future in futures[1:]:
        assert isinstance(future.exception(PATIENCE), hp.RefLost)


def test_restarted_workers_lose_their_refs(gpu, make, daemon):
    model = make()
    subprocess.run([os.environ["HOTPLATE_BIN_DIR"] + "/hotplate", "workers", "restart"], env=daemon.environment, check=True,
                   capture_output=True)
    lost(gpu, model, "hotplate workers restart")
    wait_until(lambda: not os.path.exists(f"/proc/{model.worker}"), "it ended")


def test_refs_of_a_client_that_is_killed_go_with_its_session(start_daemon):
    daemon = start_daemon("--session-timeout", "1s", "--disconnect-grace", "0.2s")
    begin = """if True:
        import hotplate, os, signal
        gpu = hotplate.connect()
        class Model: pass
    """
    die = """
        model = gpu.function(Model)()
        print(model.worker, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    look = """
        def look():
            import gc, os
            return os.getpid(), [len(one.objects) for one in gc.get_objects() if type(one).__name__ == "Calls"]
        print(gpu.function(look)())
    """

    def ran(script):
        return subprocess.run([sys.executable, "-c", begin + script], env=daemon.environment, stdout=subprocess.PIPE, check=False,
                              timeout=PATIENCE, text=True).stdout.strip()
    worker = ran(die)
    wait_until(lambda: ran(look) == f"({worker}, [0])", "its session is over, and the worker let go of it")


# Actors.

def test_an_actor_keeps_its_state_and_its_order(gpu):
    with gpu.actor(Model, weight=2) as actor:
        assert repr(actor).startswith("<hotplate.Actor of a ") and "Model in worker" in repr(actor)
        futures = [actor.note(i) for i in range(50)]
        assert actor.scaled(4).result(PATIENCE) == 8
        assert actor.noted().result(PATIENCE) == list(range(50))
        assert all(future.result(PATIENCE) is None for future in futures)
        job = gpu.job(futures[0].job_id)
        assert job["label"] == "Model.note"


def test_large_arguments_keep_the_order(gpu):
    with gpu.actor(Model) as actor:
        for i in range(6):
            actor.note(np.full(400_000, float(i)) if i % 2 == 0 else float(i))
        assert [float(np.max(one)) for one in actor.noted().result(PATIENCE)] == [0, 1, 2, 3, 4, 5]


def test_calls_of_one_actor_never_overlap(gpu):
    class Counter:
        def __init__(self):
            self.inside = self.most = 0

        def enter(self):
            import time
            self.inside += 1
            self.most = max(self.most, self.inside)
            time.sleep(0.01)
            self.inside -= 1
            return self.most
    with gpu.actor(Counter) as actor:
        assert {future.result(PATIENCE) for future in [actor.enter() for _ in range(8)]} == {1}


def test_calls_that_wait_for_their_worker_take_no_place(start_daemon, tmp_path):
    def wait(model, path):
        import time
        while not os.path.exists(path):
            time.sleep(0.01)
    path = str(tmp_path / "go")
    with start_daemon("--workers", "2").connect() as gpu, gpu.actor(Model) as actor:
        waiting = [gpu.submit(wait, actor, path) for _ in range(4)]
        wait_until(waiting[0].running, "the first one runs")
        assert gpu.submit(lambda: 1).result(PATIENCE) == 1
        assert not any(future.running() for future in waiting[1:])
        open(path, "w").close()
        for future in waiting:
            future.result(PATIENCE)


def test_one_worker_at_a_time_is_enough(start_daemon):
    with start_daemon("--workers", "1").connect() as gpu:
        with gpu.actor(Model) as one, gpu.actor(Model) as two:
            futures = [actor.scaled(i) for i in range(10) for actor in (one, two)]
            between = [gpu.submit(lambda x: x, i) for i in range(10)]
            assert [future.result(PATIENCE) for future in futures] == [3 * i for i in range(10) for _ in range(2)]
            assert [future.result(PATIENCE) for future in between] == list(range(10))


def threads(_object=None):
    return int(os.environ["OMP_NUM_THREADS"])


def test_a_worker_keeps_the_number_of_its_threads(start_daemon, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with start_daemon("--workers", "4").connect() as gpu:
        left = gpu.function(Model)()
        with pytest.raises(ValueError, match=r"cpus is 3, and the Ref of a \S*Model in worker \d+ on cpu0 is among its arguments, "
                                             "whose worker has 1: leave cpus out"):
            gpu.function(threads, cpus=3)(left)
        assert gpu.function(threads)(left) == 1
        with gpu.actor(gpu.function(Model, cpus=3)) as actor:
            assert actor.scaled(2).result(PATIENCE) == 6
            assert gpu.function(threads)(actor) == 3
            assert gpu.function(threads)() == 1
        assert [gpu.function(threads)() for _ in range(3)] == [1, 1, 1]
        assert gpu.function(threads, cpus=3)() == 3


def test_each_actor_has_a_worker_of_its_own(gpu):
    with gpu.actor(Model) as one, gpu.actor(Model) as two:
        pids = {gpu.function(lambda model: os.getpid())(one), gpu.function(lambda model: os.getpid())(two),
                gpu.function(pid)()}
        assert len(pids) == 3


def test_an_actors_exceptions_arrive_as_themselves(gpu):
    class Fails:
        def __init__(self, fails=False):
            if fails:
                raise LookupError("not here")

        def divide(self, x):
            return 1 / x
    with pytest.raises(LookupError, match="not here"):
        gpu.actor(Fails, fails=True)
    with gpu.actor(Fails) as actor:
        with pytest.raises(ZeroDivisionError):
            actor.divide(0).result(PATIENCE)
        with pytest.raises(AttributeError, match="no attribute 'multiply'"):
            actor.multiply(0).result(PATIENCE)
        assert actor.divide(2).result(PATIENCE) == 0.5


def test_attributes_of_an_actor_that_are_no_methods(gpu):
    with gpu.actor(Model, 4) as actor:
        with pytest.raises(TypeError, match=r"weight of Model is a int and no method: gpu.function\(getattr\)"):
            actor.weight().result(PATIENCE)
        assert gpu.function(getattr)(actor, "weight") == 4
        with pytest.raises(AttributeError):
            actor._private


def test_options_of_an_actor_are_its_functions(gpu):
    class Maker:
        def make(self):
            return {"a": np.zeros(3)}

        def wait(self):
            while True:
                pass
    with gpu.actor(gpu.function(Maker, keep=True, device="cpu0", time_limit=5)) as actor:
        assert isinstance(actor.make().result(PATIENCE)["a"], hp.Array)
    with gpu.actor(gpu.function(Maker, time_limit=0.3)) as actor:
        with pytest.raises(hp.JobTimeout):
            actor.wait().result(PATIENCE)
        assert actor.make().result(PATIENCE)["a"].shape == (3,)


def test_an_actor_that_is_called_itself(gpu):
    class Adder:
        def __init__(self, a):
            self.a = a

        def __call__(self, b):
            return self.a + b
    with gpu.actor(Adder, 3) as add:
        assert add(4).result(PATIENCE) == 7


def test_an_actor_is_lost_and_freed(gpu):
    actor = gpu.actor(Model)
    with pytest.raises(hp.JobFailed):
        gpu.function(lambda model: os.abort())(actor)
    with pytest.raises(hp.RefLost, match="SIGABRT"):
        actor.scaled(1).result(PATIENCE)
    with gpu.actor(Model) as other:
        other.free()
        other.free()
        with pytest.raises(ValueError, match="was freed"):
            other.scaled(1).result(PATIENCE)


def test_actors_in_asyncio(gpu):
    async def several():
        actor = await gpu.aio.actor(Model, 5)
        for i in range(5):
            await gpu.aio.call(actor.note, i)
        return await gpu.aio.call(actor.noted), await gpu.aio.call(Model.scaled, actor, 2)
    assert asyncio.run(several()) == ([0, 1, 2, 3, 4], 10)


def test_too_many_actors_are_refused(start_daemon):
    with start_daemon().connect() as gpu:
        actors = [gpu.actor(object) for _ in range(64)]
        with pytest.raises(hp.Busy, match="64 actors have a worker each"):
            gpu.actor(object)
        actors.pop().free()
        wait_until(lambda: gpu.actor(object), "another one has room")


def test_threads_may_share_an_actor(gpu):
    with gpu.actor(Model) as actor:
        def note(me):
            for i in range(20):
                actor.note((me, i))
        threads = [threading.Thread(target=note, args=(me,)) for me in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        noted = actor.noted().result(PATIENCE)
        assert all([i for one, i in noted if one == me] == list(range(20)) for me in range(4))


def test_what_is_no_class_makes_no_actor(gpu, other_session):
    with pytest.raises(TypeError, match="3 is no function"):
        gpu.actor(3)
    with pytest.raises(TypeError, match="make it there"):
        other_session.actor(gpu.function(Model))


def test_workers_are_listed_with_what_is_left_in_them(start_daemon, tmp_path):
    daemon = start_daemon("--workers", "3")

    def workers():
        done = subprocess.run([str(BIN / "hotplate"), "workers", "--json"], env=daemon.environment, capture_output=True, check=True)
        return {worker["pid"]: worker for worker in json.loads(done.stdout).get("functionWorkers", ())}
    with daemon.connect() as gpu, gpu.actor(Model) as actor:
        left = gpu.function(Model)()
        again = gpu.function(lambda model: model, returns="ref")(left)
        path = str(tmp_path / "go")
        call = gpu.submit(lambda: [time.sleep(0.01) for _ in iter(lambda: os.path.exists(path), True)] and os.getpid())
        wait_until(call.running, "the call runs")
        (its_actor,), (holder,), (busy,) = ([one for one in workers().values() if condition(one)] for condition in (
            lambda one: one.get("alone"), lambda one: one["pid"] == left.worker, lambda one: one.get("busy")))
        assert its_actor["refs"] == 1 and its_actor["device"] == "cpu0" and its_actor["interpreter"] == sys.executable
        assert holder["refs"] == 1 and not holder.get("alone")  # one object, which two Refs mean
        open(path, "w").close()
        assert call.result(PATIENCE) == busy["pid"]
        said = subprocess.run([str(BIN / "hotplate"), "workers"], env=daemon.environment, capture_output=True, text=True, check=True)
        assert "workers of functions\nINTERPRETER" in said.stdout and "actor, waits" in said.stdout
        again.free()
        left.free()
        wait_until(lambda: workers()[holder["pid"]].get("refs", 0) == 0, "nothing is left in it")
