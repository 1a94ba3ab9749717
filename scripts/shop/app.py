#!/usr/bin/env python3
"""The application server of the shop: a page from PostgreSQL and Redis, by a pool of connections.

    app.py PORT POSTGRES_SOCKET REDIS_SOCKET POOL_FILE

Each request takes a connection of the pool, whose size stands in POOL_FILE and may change at any
time, reads an item, waits as for a remote service, writes an order, and puts the page into Redis.
"""
import os
import random
import socket
import struct
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, POSTGRES, REDIS, POOL = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
# What a request waits for elsewhere while it holds its connection, seconds.
REMOTE_S = 0.04


class Database:
    """A connection to PostgreSQL by its protocol, version 3.0: trusted, simple queries only."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(POSTGRES)
        words = b"user\0postgres\0database\0postgres\0\0"
        self.socket.sendall(struct.pack("!ii", len(words) + 8, 196608) + words)
        self.wait()

    def wait(self):
        """Reads until the server is ready for the next query."""
        while True:
            kind, length = struct.unpack("!ci", self.exactly(5))
            body = self.exactly(length - 4)
            if kind == b"E":
                raise OSError(body.decode(errors="replace"))
            if kind == b"Z":
                return

    def exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise OSError("PostgreSQL has closed the connection")
            data += part
        return data

    def query(self, text):
        words = text.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!i", len(words) + 4) + words)
        self.wait()


class Cache:
    """A connection to Redis."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(REDIS)

    def put(self, key, value):
        parts = (b"SET", key.encode(), value)
        command = b"*3\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)
        self.socket.sendall(command)
        self.socket.recv(64)


class Pool:
    """Connections that are free, and how many there may be at work."""

    def __init__(self):
        self.changed = threading.Condition()
        self.free, self.busy = [], 0

    def size(self):
        with open(POOL, encoding="ascii") as file:
            return int(file.read() or 1)

    def take(self):
        with self.changed:
            while self.busy >= self.size():
                self.changed.wait(0.05)
            self.busy += 1
            if self.free:
                return self.free.pop()
        return Database(), Cache()

    def give(self, both):
        with self.changed:
            self.busy -= 1
            if both is not None:
                self.free.append(both)
            self.changed.notify()


POOL_OF_ALL = Pool()


class Page(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer is one packet: the second of two would wait for the first one's acknowledgement.
    wbufsize = 1 << 16

    def do_GET(self):
        both = POOL_OF_ALL.take()
        try:
            database, cache = both
            item = random.randrange(1, 10_000)
            database.query(f"SELECT text FROM items WHERE id = {item}")
            database.query(f"SELECT pg_sleep({REMOTE_S})")
            database.query(f"INSERT INTO orders VALUES ({item}, repeat('x', 2000))")
            page = os.urandom(4096)
            cache.put(f"item:{item}", page)
        except BaseException:
            both = None
            raise
        finally:
            POOL_OF_ALL.give(both)
        self.send_response(200)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True


Server(("127.0.0.1", PORT), Page).serve_forever()
