"""Frames as no client library sends them: connections that keep the daemon's windows and never block, and requests encoded by
hand. Their owner has a good certificate."""

import contextlib
import functools
import os
import ssl
import struct

import raw_http2
from raw_http2 import (ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, PREFACE, RST_STREAM, SETTINGS, WINDOW_UPDATE,
                       field, frame)

PATIENCE = 60
MOST_UNSENT = 1 << 20  # bytes of frames that wait here for the socket; an attack makes no more until they are gone
LARGEST_WINDOW = (1 << 31) - 1
USUAL_WINDOW = 65535
OPEN_WINDOW = struct.pack(">HI", 4, LARGEST_WINDOW)
CANCEL = struct.pack(">I", 8)

GET_INFO = "/hotplate.v1.Server/GetInfo"
EXECUTE = "/hotplate.v1.Jobs/Execute"
RUN = "/hotplate.v1.Jobs/Run"


# Messages.

def varint(number):
    encoded = b""
    while number >= 128:
        encoded, number = encoded + bytes((number % 128 + 128,)), number // 128
    return encoded + bytes((number,))


def number(tag, value):
    return varint(tag << 3) + varint(value)


def part(tag, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(tag << 3 | 2) + varint(len(content)) + content


def message(content):
    """As gRPC frames it."""
    return b"\0" + struct.pack(">I", len(content)) + content


def float32s(count):
    """An InlineArray of so many ones."""
    signature = number(1, 12) + part(2, varint(count))
    return part(1, signature) + part(2, struct.pack("<f", 1) * count)


def vector_add(count):
    """A JobSpec; its output has 4 * count bytes."""
    array = float32s(count)
    return part(1, "vector_add") + b"".join(part(3, part(1, name) + part(2, array)) for name in ("a", "b"))


def full(count):
    """A JobSpec of some bytes; its output has 8 * count."""
    return part(1, "full") + part(2, part(1, "n") + part(2, number(1, count)))


def execute(job):
    return message(part(1, job))


def run(jobs, first_tag=1):
    return message(b"".join(part(1, number(1, first_tag + index) + part(2, job)) for index, job in enumerate(jobs)))


def fields_of(path, token):
    usual = [(":method", "POST"), (":scheme", "https"), (":path", path), (":authority", "hotplate"),
             ("content-type", "application/grpc"), ("te", "trailers")]
    return [*usual, ("authorization", "Bearer " + token)] if token else usual


@functools.cache
def headers_of(path, token):
    return b"".join(field(name, value) for name, value in fields_of(path, token))


@functools.cache
def short_headers_of(path, token):
    """(header block of a connection's first call, of the others): a byte a field, for the daemon keeps them in its table. More
    calls fit into a read."""
    fields = fields_of(path, token)
    first = b"".join(b"\x40" + raw_http2.text(name) + raw_http2.text(value) for name, value in fields)
    return first, bytes(0x80 | 61 + len(fields) - index for index in range(len(fields)))


# Connections.

class Connection:
    """Moves what can be moved with each turn(), and never waits. Its own windows are open wide, unless `closed`: then the
    daemon may send what HTTP/2 allows at first, and no more."""

    def __init__(self, record, receive_bytes=0, closed=False):
        self.token = record["token"]
        self.socket = raw_http2.connect(record, PATIENCE, receive_bytes)
        self.socket.setblocking(False)
        self.unsent = bytearray(PREFACE + frame(SETTINGS, 0, 0, b"" if closed else OPEN_WINDOW))
        if not closed:
            self.unsent += frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", LARGEST_WINDOW - USUAL_WINDOW))
        self.received = b""
        self.window = self.initial = USUAL_WINDOW
        self.windows = {}  # by stream
        self.waiting = {}  # by stream: [bytes, zeros after them, whether they end the stream], for want of a window
        self.answers = {}  # by stream that is asked for: [data, whether it has ended]
        self.resets = 0  # by the daemon
        self.bytes_in = self.written = 0  # the latter: of messages
        self.hung_up = False  # or was asked to
        self.next_stream = 1
        self.reads = True

    def fileno(self):
        return self.socket.fileno()

    def close(self):
        self.hung_up = True
        self.socket.close()

    @property
    def full(self):
        return len(self.unsent) > MOST_UNSENT

    # Calls.

    def open(self, path):
        """The stream of a new call, with its headers on their way."""
        return self.open_with(headers_of(path, self.token))

    def open_with(self, block):
        stream, self.next_stream = self.next_stream, self.next_stream + 2
        self.unsent += frame(HEADERS, END_HEADERS, stream, block)
        return stream

    def write(self, stream, content, zeros=0, last=True):
        """To be sent as windows allow."""
        self.windows.setdefault(stream, self.initial)
        self.waiting[stream] = [memoryview(content), zeros, last]

    def forget(self, stream):
        self.windows.pop(stream, None)
        self.waiting.pop(stream, None)

    def reset(self, stream):
        self.forget(stream)
        self.unsent += frame(RST_STREAM, 0, stream, CANCEL)

    def ask(self, path, content):
        stream = self.open(path)
        self.answers[stream] = [b"", False]
        self.write(stream, message(content))
        return stream

    def answered(self, stream):
        """True: with a message, which only OK has. False: otherwise. None: not yet."""
        got, ended = self.answers[stream]
        if not ended and not self.hung_up:
            return None
        return ended and bool(got)

    # Turns.

    def turn(self):
        """Whether anything has moved."""
        if self.hung_up:
            return False
        try:
            moved = self.send_waiting() + self.flush() + (self.receive() if self.reads else 0)
        except (ConnectionError, ssl.SSLEOFError, ssl.SSLError):
            self.hung_up = True
            return False
        return moved > 0

    def flush(self):
        sent = 0
        try:
            while self.unsent:
                done = self.socket.send(memoryview(self.unsent)[:65536].tobytes())
                del self.unsent[:done]
                sent += done
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError, BlockingIOError):
            pass
        return sent

    def send_waiting(self):
        moved = 0
        for stream in list(self.waiting):
            if self.full or self.window <= 0:
                break
            content, zeros, last = self.waiting[stream]
            room = min(self.window, self.windows[stream], 16384)
            if room <= 0:
                continue
            piece = bytes(content[:room])
            piece += bytes(min(room - len(piece), zeros))
            more = len(content) + zeros - len(piece)
            self.unsent += frame(DATA, END_STREAM if last and not more else 0, stream, piece)
            self.window -= len(piece)
            self.windows[stream] -= len(piece)
            moved += len(piece)
            self.written += len(piece)
            if more:
                rest = content[len(piece):]
                self.waiting[stream] = [rest, more - len(rest), last]
            else:
                del self.waiting[stream]
        return moved

    def receive(self):
        got = 0
        try:
            while got < MOST_UNSENT:
                block = self.socket.recv(65536)
                if not block:
                    self.hung_up = True
                    break
                self.received += block
                got += len(block)
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError, BlockingIOError):
            pass
        self.bytes_in += got
        at = 0
        while len(self.received) - at >= 9:
            end = at + 9 + int.from_bytes(self.received[at:at + 3], "big")
            if len(self.received) < end:
                break
            kind, flags = self.received[at + 3:at + 5]
            self.take(kind, flags, int.from_bytes(self.received[at + 5:at + 9], "big"), self.received[at + 9:end])
            at = end
        self.received = self.received[at:]
        return got

    def take(self, kind, flags, stream, content):
        if kind == SETTINGS and not flags & ACK:
            for key, value in struct.iter_unpack(">HI", content):
                if key == 4:
                    self.windows = {one: window + value - self.initial for one, window in self.windows.items()}
                    self.initial = value
            self.unsent += frame(SETTINGS, ACK, 0)
        elif kind == WINDOW_UPDATE:
            more = int.from_bytes(content, "big")
            if stream == 0:
                self.window += more
            elif stream in self.windows:
                self.windows[stream] += more
        elif kind == PING and not flags & ACK:
            self.unsent += frame(PING, ACK, 0, content)
        elif kind == GOAWAY:
            self.hung_up = True
        elif kind == RST_STREAM:
            self.resets += 1
            self.forget(stream)
        if stream in self.answers and kind in (DATA, HEADERS, RST_STREAM):
            self.answers[stream][0] += content if kind == DATA else b""
            self.answers[stream][1] |= kind == RST_STREAM or bool(flags & END_STREAM)


# The daemon's figures.

def figure(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key + ":"))


def resident(pid):
    """Bytes."""
    return figure(pid, "VmRSS") << 10


def most_resident(pid):
    return figure(pid, "VmHWM") << 10


def threads(pid):
    return figure(pid, "Threads")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def connections(pid):
    """Open sockets of it, but for those that listen."""
    inodes = set()
    for entry in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            inodes.add(os.readlink(f"/proc/{pid}/fd/{entry}").removeprefix("socket:[").removesuffix("]"))
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as sockets:
        next(sockets)
        return sum(words[9] in inodes and words[3] != "0A" for words in map(str.split, sockets))
