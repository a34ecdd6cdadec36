"""Headers and messages that no client of ours sends. CVE-2023-1428 of gRPC 1.51: converting one of them to text aborted the daemon."""

import pathlib
import re

import harness
import raw_http2

INFO = "/hotplate.v1.Server/GetInfo"
ORDINARY = (("te", "trailers"), ("content-type", "application/grpc"))
HOSTILE = {
    "a balancer's statistics": (*ORDINARY, ("grpclb_client_stats", "x")),
    "te that is not trailers": (("te", "x"), ("content-type", "application/grpc")),
    "content of another type": (("te", "trailers"), ("content-type", "text/plain")),
    "neither": (),
    "a second scheme": (*ORDINARY, (":scheme", "z")),
    "more than there is room for": (*ORDINARY, ("grpclb_client_stats", "x"), ("x-long", "a" * 15000)),
}


class Headers(harness.Case):
    def check(self, name):
        record = self.record(name)
        token = ("authorization", "Bearer " + record["token"])
        for what, headers in HOSTILE.items():
            for more in ((), (token,), (("authorization", "Bearer " + "0" * 64),)):
                with self.subTest(what, daemon=name, token=more):
                    raw_http2.call(record, INFO, (*headers, *more), b"", harness.PATIENCE)
                    answer = raw_http2.call(record, INFO, (*ORDINARY, token), b"", harness.PATIENCE)
                    self.assertIn(b"grpc-status\x010", answer, self.log(name))
        # No message at all: INVALID_ARGUMENT.
        self.assertIn(b"grpc-status\x013", raw_http2.call(record, INFO, (*ORDINARY, token), None, harness.PATIENCE))
        self.assertIn(b"grpc-status\x0216", raw_http2.call(record, INFO, ORDINARY, b"", harness.PATIENCE))
        self.assertIn("hotplate.v1.Jobs".encode(), raw_http2.call(
            record, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", (*ORDINARY, token), b"\x3a\0", harness.PATIENCE))

    def test_a_message_that_is_none_is_named_by_every_call(self):
        """gRPC's own answers would be UNIMPLEMENTED, and on a stream from the client OK and silence."""
        daemon = self.start_daemon(name="messages")
        record = self.record("messages")
        token = ("authorization", "Bearer " + record["token"])
        calls = [(service, *one) for name in (pathlib.Path(__file__).parents[2] / "proto/hotplate/v1").glob("*.proto")
                 for service, body in re.findall(r"^service (\w+) {(.*?)^}", name.read_text(), re.M | re.S)
                 for one in re.findall(r"rpc (\w+)\((?:stream )?(\w+)\)", body)]
        self.assertIn(("Jobs", "Run", "RunJobsRequest"), calls)
        for service, method, message in calls:
            with self.subTest(service=service, method=method):
                answer = raw_http2.call(record, f"/hotplate.v1.{service}/{method}", (*ORDINARY, token), b"\xff" * 9, harness.PATIENCE)
                self.assertIn(b"grpc-status\x013", answer)  # INVALID_ARGUMENT
                self.assertIn(f" is not a hotplate.v1.{message}".encode(), answer)
        self.assertEqual(self.stop_daemon(daemon), 0)

    def test_with_tls(self):
        daemon = self.start_daemon(name="tls")
        self.check("tls")
        self.assertEqual(self.stop_daemon(daemon), 0)

    def test_without(self):
        daemon = self.start_daemon("--insecure", "--unix-socket", self.folder / "socket", name="plain")
        self.check("plain")
        self.assertEqual(self.stop_daemon(daemon), 0)


if __name__ == "__main__":
    harness.main()
