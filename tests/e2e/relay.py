"""A relay between a command and its daemon: it stops passing bytes on after so many, so that a transfer is held in its
middle for as long as a test wants, or is cut like a network."""

import socket
import threading
import time


class Relay:
    """Listens on loopback. Passes `up` bytes of each connection on to the daemon and `down` bytes back, then waits for
    release()."""

    def __init__(self, port, up=None, down=None):
        self.port_of_daemon = port
        self.limits = {"up": up, "down": down}
        self.held = threading.Event()  # a limit was reached
        self.released = threading.Event()
        self.sockets = []
        self.silent = False
        self.near_only = False
        self.heard = None  # when the daemon has last said something over it, since cut()
        # Bound for the relay's life and never listening: between cut() and mend() nobody else is given the port.
        self.holder = socket.socket()
        self.holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.holder.bind(("127.0.0.1", 0))
        self.port = self.holder.getsockname()[1]
        self.listen()

    def listen(self):
        self.listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def cut(self, silent=False, near_only=False):
        """Breaks what is open. What comes after it is refused, or with `silent` accepted and never answered. With
        `near_only` the daemon is not told: its ends stay open, and are silent."""
        self.silent = silent
        self.near_only = near_only
        if not silent:
            self.hang_up(self.listener)
        kept = [one for one in self.sockets if near_only and self.is_far(one)]
        for one in self.sockets:
            if one not in kept:
                self.hang_up(one)
        self.sockets = kept
        self.heard = None

    def settled(self):
        """The daemon has answered over it, and has nothing more to say. On a busy machine the handshake may be all that it
        has said for a while."""
        heard = self.heard
        return heard is not None and time.monotonic() - heard > 1.5

    def mend(self):
        """For connections that are made from now on."""
        if not self.silent:
            self.listen()
        self.silent = False

    def is_far(self, one):
        try:
            return one.getpeername()[1] == self.port_of_daemon
        except OSError:
            return False

    @staticmethod
    def hang_up(one):
        try:
            one.shutdown(socket.SHUT_RDWR)  # who waits in it comes back
        except OSError:
            pass
        one.close()

    def accept(self, listener):
        while True:
            try:
                client = listener.accept()[0]
            except OSError:
                return
            if self.silent:
                self.sockets.append(client)
                continue
            try:
                daemon = socket.create_connection(("127.0.0.1", self.port_of_daemon))
            except OSError:  # as a forward does whose far end is not reached
                self.hang_up(client)
                continue
            self.sockets += [client, daemon]
            for source, sink, way in ((client, daemon, "up"), (daemon, client, "down")):
                threading.Thread(target=self.pass_on, args=(source, sink, way), daemon=True).start()

    def pass_on(self, source, sink, way):
        passed = 0
        try:
            while data := source.recv(65536):
                passed += len(data)
                limit = self.limits[way]
                if limit is not None and passed > limit:
                    self.held.set()
                    self.released.wait()
                    # The rest goes slowly: whoever has heard a signal meanwhile may be held up before acting on it.
                    time.sleep(0.001)
                sink.sendall(data)
                if way == "down":
                    self.heard = time.monotonic()
            if not self.near_only:
                sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def release(self):
        self.released.set()

    def close(self):
        self.release()
        # Also the listener: a thread that still accepts would take the connections of whoever gets that port next.
        for one in [self.listener, self.holder, *self.sockets]:
            self.hang_up(one)
