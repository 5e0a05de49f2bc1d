"""A port for a server that is ended and started again at the same place."""

import contextlib
import secrets
import socket

FIRST, COUNT = 20_000, 12_000  # below those that systems give to whoever asks for any


def steady_port() -> int:
    """A free one that no connection is given meanwhile, nor while the server is away.

    A client that tries again and again to reach one of the higher ports may be given that very port for its
    own end, reach itself, and so keep the server from coming back.
    """
    while True:
        port = FIRST + secrets.randbelow(COUNT)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
