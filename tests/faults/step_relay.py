"""A relay between a client and its daemon that counts what passes, and stops passing anything on after the step it was told.

A step is a TLS record, in either direction. Of a long transfer only some records are steps: those between them find client and
daemon in the same state.
"""

import socket
import threading
import time

from lives import PATIENCE

HEADER = 5  # bytes of a record's header, whose last two are the length of what follows
LONG = 8 << 10  # bytes: longer records are a transfer's


class StepRelay:
    def __init__(self, port, last, piece):
        """`piece`: bytes of a transfer that are one step."""
        self.port_of_daemon = port
        self.last = last
        self.piece = piece
        self.steps = 0
        self.reached = threading.Event()  # the last step has passed, and nothing passes after it
        self.lock = threading.Lock()
        self.closed = False
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def wait(self, process):
        """True as soon as the last step has passed, False if the process has ended before."""
        end = time.monotonic() + PATIENCE
        while not self.reached.wait(0.002):
            if process.poll() is not None:
                return self.reached.is_set()
            if time.monotonic() > end:
                raise AssertionError(f"neither step {self.last} nor its end was seen of {process.args}, but {self.steps} steps")
        return True

    def close(self):
        with self.lock:
            self.closed = True
            sockets = [self.listener, *self.sockets]
        for one in sockets:
            self.hang_up(one)

    @staticmethod
    def hang_up(one):
        try:
            one.shutdown(socket.SHUT_RDWR)  # who waits in it comes back
        except OSError:
            pass
        one.close()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
                daemon = socket.create_connection(("127.0.0.1", self.port_of_daemon), timeout=PATIENCE)
            except OSError:
                return
            client.settimeout(PATIENCE)
            for one in (client, daemon):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.sockets += [client, daemon]
                closed = self.closed
            if closed:
                self.hang_up(client)
                self.hang_up(daemon)
                return
            for source, sink in ((client, daemon), (daemon, client)):
                threading.Thread(target=self.pass_on, args=(source, sink), daemon=True).start()

    def pass_on(self, source, sink):
        transferred = 0
        try:
            while record := self.record(source):
                is_step = len(record) < LONG
                if not is_step:
                    transferred += len(record)
                    is_step = transferred >= self.piece
                    transferred = 0 if is_step else transferred
                # With the lock, so that nothing passes in one direction after the last step in the other.
                with self.lock:
                    if self.reached.is_set():
                        return
                    sink.sendall(record)
                    self.steps += is_step
                    if self.steps >= self.last:
                        self.reached.set()
            with self.lock:
                if not self.reached.is_set():
                    sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def record(self, source):
        """One record with its header; nothing at the end of what is sent."""
        header = self.exactly(source, HEADER)
        if not header:
            return b""
        return header + self.exactly(source, int.from_bytes(header[3:], "big"))

    @staticmethod
    def exactly(source, count):
        got = bytearray()
        while len(got) < count:
            more = source.recv(count - len(got))
            if not more:
                return b""
            got += more
        return bytes(got)
