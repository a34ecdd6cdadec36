#!/usr/bin/env python3
"""Many programs on one connection to a daemon, by its protocol: the command starts one at a time, and the package has only functions.

usage: program_calls.py RECORD FOLDER
  RECORD  the daemon's, FOLDER a place for the protocol's modules, which grpcio-tools makes
  On standard input "rate N": runs `true` N times. On standard output the programs in a second, from the first one's
  submission to the end of all.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

PROTO = pathlib.Path(__file__).resolve().parents[3] / "proto"
LAST = 16  # more than there are lanes: programs begin in their order


def make_modules(folder):
    out = pathlib.Path(folder) / "protocol"
    (out / "hotplate/v1").mkdir(parents=True)
    files = sorted(map(str, (PROTO / "hotplate/v1").glob("*.proto")))
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}", f"--python_out={out}", f"--grpc_python_out={out}", *files],
                   check=True)
    for package in ("hotplate", "hotplate/v1"):  # before the package of the same name
        (out / package / "__init__.py").touch()
    sys.path.insert(0, str(out))


def connect(record):
    """The channel, and what each call carries."""
    import grpc

    endpoint = record["endpoints"][0]
    secret = [record[name].encode() for name in ("certificate_pem", "client_key_pem", "client_certificate_pem")]
    channel = grpc.secure_channel(f"{endpoint['address']}:{endpoint['port']}", grpc.ssl_channel_credentials(*secret),
                                  [("grpc.ssl_target_name_override", "hotplate")])
    return channel, [("authorization", f"Bearer {record['token']}")]


class Programs:
    def __init__(self, record):
        from hotplate.v1 import jobs_pb2, jobs_pb2_grpc, programs_pb2, programs_pb2_grpc

        channel, self.metadata = connect(record)
        self.programs, self.jobs = programs_pb2_grpc.ProgramsStub(channel), jobs_pb2_grpc.JobsStub(channel)
        program = programs_pb2.Program(arguments=[b"true"], folder=os.getcwdb(), environment=[b"PATH=" + os.fsencode(os.environ["PATH"])])
        self.request = programs_pb2.SubmitProgramRequest(program=program)
        self.watch, self.unfinished = jobs_pb2.WatchJobRequest, jobs_pb2.ListJobsRequest(active_only=True)

    def rate(self, count):
        begin = time.perf_counter()
        submitted = [self.programs.Submit.future(self.request, metadata=self.metadata) for _ in range(count)]
        ids = sorted((answer.result().job_id for answer in submitted), key=int)
        for job in ids[-LAST:]:
            for update in self.jobs.Watch(self.watch(job_id=job), metadata=self.metadata):
                last = update
        seconds = time.perf_counter() - begin
        assert not self.jobs.List(self.unfinished, metadata=self.metadata).jobs, "a program runs still"
        assert last.updates[-1].end.state == 3, last  # COMPLETED
        return count / seconds


def main():
    record, folder = sys.argv[1:]
    make_modules(folder)
    programs = Programs(json.loads(pathlib.Path(record).read_text(encoding="utf-8")))
    for line in sys.stdin:
        what, count = line.split()
        assert what == "rate", what
        print(programs.rate(int(count)), flush=True)


if __name__ == "__main__":
    main()
