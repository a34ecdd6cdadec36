"""What else runs a Python function in a process that stays: the standard library, Ray, Dask, Parsl and executorlib, each with one
process on this machine. `call` is a no-op and its answer, `burst` is WINDOW of them in flight, `held` a function of an array of 8 MB
that stays where the functions run, with a result that stays there. `goals` are for the ratio to it: time of a call and of `held` at
most, rate of a burst at least."""

import concurrent.futures
import multiprocessing
import tempfile

import numpy as np
import work
from ours import WINDOW


class Pool:
    goals = {"call": 1.25}
    held_name = "the array there and back"

    def __init__(self):
        self.name = "ProcessPoolExecutor"
        self.pool = concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        self.array = np.ones(1_000_000)

    def call(self):
        self.pool.submit(work.nothing).result()

    def burst(self):
        for future in [self.pool.submit(work.nothing) for _ in range(WINDOW)]:
            future.result()

    def held(self):
        self.pool.submit(work.plus_one, self.array).result()

    def close(self):
        self.pool.shutdown()


class Ray:
    """Its object store is memory that processes share; nothing is encrypted."""

    goals = {"call": 1 / 3, "burst": 3, "held": 1 / 3}
    held_name = ""

    def __init__(self):
        import ray

        self.ray = ray
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR", object_store_memory=500_000_000,
                 _node_ip_address="127.0.0.1")
        self.array = ray.put(np.ones(1_000_000))
        self.begin()

    def begin(self):
        self.name = f"Ray {self.ray.__version__}, actor"
        actor = self.ray.remote(num_cpus=1)(work.Actor).remote()
        self.nothing, self.plus_one = actor.nothing.remote, actor.plus_one.remote

    def call(self):
        self.ray.get(self.nothing())

    def burst(self):
        self.ray.get([self.nothing() for _ in range(WINDOW)])

    def held(self):
        self.ray.wait([self.plus_one(self.array)], fetch_local=False)

    def close(self):
        self.ray.shutdown()


class RayTasks(Ray):
    goals = {}

    def begin(self):
        self.name = f"Ray {self.ray.__version__}, task"
        self.nothing, self.plus_one = (self.ray.remote(num_cpus=1)(one).remote for one in (work.nothing, work.plus_one))


class Dask:
    goals = {"call": 1 / 40}
    held_name = ""

    def __init__(self):
        import distributed

        self.distributed = distributed
        self.cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None,
                                                memory_limit=0, silence_logs=50)
        self.client = distributed.Client(self.cluster)
        self.array = self.client.scatter(np.ones(1_000_000))
        self.begin()

    def begin(self):
        self.name = f"Dask {self.distributed.__version__}, task"

    def nothing(self):
        return self.client.submit(work.nothing, pure=False)

    def plus_one(self):
        return self.client.submit(work.plus_one, self.array, pure=False)

    def call(self):
        self.nothing().result()

    def burst(self):
        self.client.gather([self.nothing() for _ in range(WINDOW)])

    def held(self):
        self.distributed.wait(self.plus_one())

    def close(self):
        self.client.close()
        self.cluster.close()


class DaskActor(Dask):
    """Its results are not Dask's futures: they come here."""

    goals = {}
    held = None

    def begin(self):
        self.name = f"Dask {self.distributed.__version__}, actor"
        self.nothing = self.client.submit(work.Actor, actor=True).result().nothing

    def burst(self):
        for future in [self.nothing() for _ in range(WINDOW)]:
            future.result()


class Parsl:
    goals = {"call": 1 / 7}
    held = None  # it has no place for arrays to stay

    def __init__(self):
        import parsl
        from parsl.executors import HighThroughputExecutor
        from parsl.providers import LocalProvider

        self.parsl = parsl
        self.name = f"Parsl {parsl.__version__}, HTEX"
        self.folder = tempfile.TemporaryDirectory(prefix="hotplate-parsl-")
        executor = HighThroughputExecutor(label="htex", address="127.0.0.1", loopback_address="127.0.0.1", max_workers_per_node=1,
                                          working_dir=self.folder.name, provider=LocalProvider(init_blocks=1, max_blocks=1))
        parsl.load(parsl.Config(executors=[executor], run_dir=self.folder.name, strategy="none", initialize_logging=False))
        self.nothing = parsl.python_app(work.nothing)

    def call(self):
        self.nothing().result()

    def burst(self):
        for future in [self.nothing() for _ in range(WINDOW)]:
            future.result()

    def close(self):
        self.parsl.dfk().cleanup()
        self.parsl.clear()
        self.folder.cleanup()


class Executorlib:
    goals = {"call": 1 / 40}
    held = None

    def __init__(self):
        import executorlib

        self.name = f"executorlib {executorlib.__version__}, block allocation"
        self.executor = executorlib.SingleNodeExecutor(max_workers=1, block_allocation=True, hostname_localhost=True)

    def call(self):
        self.executor.submit(work.nothing).result()

    def burst(self):
        for future in [self.executor.submit(work.nothing) for _ in range(WINDOW)]:
            future.result()

    def close(self):
        self.executor.shutdown()


PEERS = {"ProcessPoolExecutor": Pool, "Ray actor": Ray, "Ray task": RayTasks, "Dask task": Dask, "Dask actor": DaskActor, "Parsl": Parsl,
         "executorlib": Executorlib}
