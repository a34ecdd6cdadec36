"""A login node that cannot reach the compute node: the error says how to get there, and --endpoint goes there."""

import json

import harness

# What `ssh -N -L` does, on a host that both can reach. Prints the port that it listens at.
FORWARD = """
import socket, sys, threading
def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass
listener = socket.create_server(("0.0.0.0", 0))
print(listener.getsockname()[1], flush=True)
while True:
    near = listener.accept()[0]
    far = socket.create_connection((sys.argv[1], int(sys.argv[2])))
    for pair in ((near, far), (far, near)):
        threading.Thread(target=pump, args=pair, daemon=True).start()
"""


class Unreachable(harness.SlurmCase):
    def test_through_a_forward(self):
        self.sbatch("-w", "gpu1", "-t", "10", "--wrap", "exec hotplated --device cpu --name far")
        record = self.directory / "servers" / "far.json"
        harness.wait_until(record.exists, "the daemon published its record")
        endpoint = json.loads(record.read_text())["endpoints"][0]
        self.assertEqual((endpoint["node"], endpoint["address"]), ("gpu1", "10.77.0.11"))
        port = endpoint["port"]
        self.hotplate("status")
        command = f"ssh -N -L {port}:10.77.0.11:{port} gpu1"
        self.assertEqual(self.answer("status", "--forward"), {"command": command, "endpoint": f"localhost:{port}"})

        self.lab.hosts["login"].run("ip route add prohibit 10.77.0.11")
        self.addCleanup(self.lab.hosts["login"].run, "ip route del prohibit 10.77.0.11")
        for words in (("status",), ("run", "integrate2d", "--n", "10")):
            self.hotplate(*words, code=harness.NO_DAEMON, says=(command, f"hotplate --endpoint localhost:{port}"))

        forward = self.lab.start("gpu2", ["/usr/bin/python3", "-c", FORWARD, "10.77.0.11", str(port)])
        self.processes.append(forward)
        near = f"10.77.0.12:{int(forward.stdout.readline())}"
        self.hotplate("--endpoint", near, "run", "integrate2d", "--n", "10")
        self.hotplate("status", env={"HOTPLATE_ENDPOINT": near}, says="READY")
        self.hotplate("--endpoint", near, "down", env={})


if __name__ == "__main__":
    harness.main()
