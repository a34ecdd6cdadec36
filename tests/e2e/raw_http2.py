"""HTTP/2 by hand, for what no client library sends: any header, any bytes as a message. One call a connection
(tests/faults/flooding.py has connections of many)."""

import functools
import socket
import ssl
import struct
import tempfile

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def text(value):
    """A string of HPACK, without Huffman's code."""
    value = value.encode()
    if len(value) < 127:
        return bytes((len(value),)) + value
    length, encoded = len(value) - 127, b"\x7f"
    while length >= 128:
        encoded, length = encoded + bytes((length % 128 + 128,)), length // 128
    return encoded + bytes((length,)) + value


def field(name, value):
    """Never indexed, so that there is no state to keep."""
    return b"\x10" + text(name) + text(value)


@functools.cache
def trust(daemon_certificate, identity_pem):
    """One for all connections: reading the certificates takes longer than a handshake."""
    context = ssl.create_default_context(cadata=daemon_certificate)
    context.set_alpn_protocols(["h2"])
    with tempfile.NamedTemporaryFile(prefix="hotplate-e2e-") as identity:
        identity.write(identity_pem.encode())
        identity.flush()
        context.load_cert_chain(identity.name)
    return context


def connect(record, patience, receive_bytes=0):
    """To the daemon of an endpoint record, over TLS with the record's certificates where it has some. `receive_bytes`: the
    kernel's buffer for what was not read, if not the usual one."""
    place = record["endpoints"][0]
    unix = place["address"].startswith("unix:")
    connection = socket.socket(socket.AF_UNIX if unix else socket.AF_INET6 if ":" in place["address"] else socket.AF_INET)
    if receive_bytes:  # before it connects, for the peer is told of it then
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.settimeout(patience)
    connection.connect(place["address"].removeprefix("unix:") if unix else (place["address"], place["port"]))
    if not record.get("certificate_pem"):
        return connection
    context = trust(record["certificate_pem"], record["client_certificate_pem"] + record["client_key_pem"])
    return context.wrap_socket(connection, server_hostname="hotplate")


def call(record, path, headers, message, patience):
    """All that the daemon sent until the call's trailers, or until it hung up. Message None: not even an empty one."""
    usual = ((":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "hotplate"))
    block = b"".join(field(name, value) for name, value in (*usual, *headers))
    framed = b"" if message is None else b"\0" + struct.pack(">I", len(message)) + message
    with connect(record, patience) as connection:
        connection.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(HEADERS, END_HEADERS, 1, block) +
                           frame(DATA, END_STREAM, 1, framed))
        got = b""
        while b"grpc-status" not in got:
            try:
                more = connection.recv(65536)
            except ConnectionError:
                break
            if not more:
                break
            got += more
        return got
