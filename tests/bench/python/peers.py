"""Dask distributed, Ray and Arrow Flight, asked for what tests/bench/python/run.py asks of Hotplate. Each has one process
beside this one, as the daemon is one. What cannot be imported is not compared with."""

import time

import numpy as np


def add(x, y):
    return x + y


def norm(x):
    return np.linalg.norm(x)




def rate(array, call):
    """GB/s of a transfer, and what it gave."""
    begin = time.perf_counter()
    result = call()
    return array.nbytes / (time.perf_counter() - begin) / 1e9, result


class Dask:
    plain = False  # it knows no unix sockets, and Hotplate has TLS on all others

    def __init__(self, tiny, big):
        import distributed

        self.name = f"Dask distributed {distributed.__version__}"
        self.tiny, self.big = tiny, big
        self.cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None,
                                                memory_limit=0, silence_logs=40)
        self.client = distributed.Client(self.cluster)
        self.array = self.client.scatter(np.ones(1_000_000))
        self.there = self.client.submit(np.ones, big.size, np.float32, pure=False)
        self.client.gather(self.there)

    def call(self):
        assert self.client.submit(add, self.tiny, self.tiny, pure=False).result()[3] == 8

    def in_flight(self, calls):
        self.client.gather([self.client.submit(add, self.tiny, self.tiny, pure=False) for _ in range(calls)])

    def resident(self):
        assert self.client.submit(norm, self.array, pure=False).result() == 1000

    def upload(self):
        figure, future = rate(self.big, lambda: self.client.scatter(self.big, hash=False))
        future.release()
        return figure

    def download(self):
        # An array that the worker has made: what was scattered from here may be known here.
        return rate(self.big, self.there.result)[0]

    def close(self):
        self.client.close()
        self.cluster.close()


class Ray:
    plain = True

    def __init__(self, tiny, big):
        import ray

        self.ray = ray
        self.name = f"Ray {ray.__version__}"
        self.tiny, self.big = tiny, big
        ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR",
                 object_store_memory=6 * big.nbytes + 100_000_000)

        @ray.remote(num_cpus=1)
        class Worker:
            def add(self, x, y):
                return x + y

            def norm(self, x):
                return np.linalg.norm(x)

            def ones(self, count):
                return np.ones(count, np.float32)

        self.worker = Worker.remote()
        self.array = ray.put(np.ones(1_000_000))
        self.call()

    def call(self):
        assert self.ray.get(self.worker.add.remote(self.tiny, self.tiny))[3] == 8

    def in_flight(self, calls):
        self.ray.get([self.worker.add.remote(self.tiny, self.tiny) for _ in range(calls)])

    def resident(self):
        assert self.ray.get(self.worker.norm.remote(self.array)) == 1000

    def upload(self):
        return rate(self.big, lambda: self.ray.put(self.big))[0]

    def download(self):
        """Into memory of this process's own: what `get` gives is the store's, which cannot be written to."""
        there = self.worker.ones.remote(self.big.size)
        self.ray.wait([there], fetch_local=False)
        return rate(self.big, lambda: self.ray.get(there).copy())[0]

    def close(self):
        self.ray.shutdown()


FLIGHT_SERVER = """
import sys
import numpy, pyarrow
from pyarrow import flight
class Server(flight.FlightServerBase):
    kept = None
    def do_put(self, context, descriptor, reader, writer):
        self.kept = reader.read_all()
    def do_get(self, context, ticket):
        return flight.RecordBatchStream(self.kept)
server = Server("grpc+unix://" + sys.argv[1])
print("ready", flush=True)
sys.stdin.read()
"""


class Flight:
    plain = True

    def __init__(self, tiny, big):
        import subprocess
        import sys
        import tempfile

        import pyarrow
        from pyarrow import flight

        self.name = f"Arrow Flight {pyarrow.__version__}"
        self.big = big
        self.pyarrow, self.flight = pyarrow, flight
        # In batches, as Flight's own benchmark sends them.
        part = 1 << 20
        self.table = pyarrow.Table.from_batches(
            [pyarrow.record_batch([pyarrow.array(big[at : at + part])], names=["x"]) for at in range(0, big.size, part)])
        self.folder = tempfile.TemporaryDirectory(prefix="hotplate-flight-")
        socket = f"{self.folder.name}/socket"
        self.process = subprocess.Popen([sys.executable, "-c", FLIGHT_SERVER, socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.process.stdout.readline()
        self.client = flight.connect(f"grpc+unix://{socket}")
        self.upload()

    def upload(self):
        def put():
            writer, reader = self.client.do_put(self.flight.FlightDescriptor.for_path("x"), self.table.schema)
            writer.write_table(self.table)
            writer.done_writing()
            reader.read()  # the server has it
            writer.close()
        return rate(self.big, put)[0]

    def download(self):
        def get():
            return self.client.do_get(self.flight.Ticket(b"")).read_all()["x"].to_numpy()
        figure, got = rate(self.big, get)
        assert got.size == self.big.size
        return figure

    def close(self):
        self.client.close()
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


PEERS = {"dask": Dask, "ray": Ray, "flight": Flight}
