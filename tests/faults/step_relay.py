"""A relay between a client and its daemon that counts what passes, and stops passing anything on after the step it was told.

A step is a TLS record, in either direction. Of a long transfer only some records are steps: those between them find client and
daemon in the same state.
"""

import contextlib
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
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.acceptor = threading.Thread(target=self.accept, daemon=True)
        self.passing_on = []  # threads
        self.acceptor.start()

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
        # Nothing is closed before the threads have ended. One on its way into poll() has but the socket's number: if that is given
        # away meanwhile, it holds what has it then, such as the pipe of the next command, whose end nobody sees for PATIENCE.
        self.shut_down(self.listener)
        self.acceptor.join()
        for one in self.sockets:
            self.shut_down(one)
        for thread in self.passing_on:
            thread.join()
        for one in [self.listener, *self.sockets]:
            one.close()

    @staticmethod
    def shut_down(one):
        with contextlib.suppress(OSError):  # its other end is gone
            one.shutdown(socket.SHUT_RDWR)  # who waits in it comes back

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
            self.sockets += [client, daemon]
            for source, sink in ((client, daemon), (daemon, client)):
                self.passing_on.append(threading.Thread(target=self.pass_on, args=(source, sink), daemon=True))
                self.passing_on[-1].start()

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
