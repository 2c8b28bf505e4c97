"""A message from one worker to all others of the same `quoth serve --workers N`.

In: a few bytes. Out: the same bytes at every other worker, at once, as a datagram in a folder that the parent made and
only its user may enter. There is no reply. Servers on other machines hear nothing. Knows neither HTTP nor the meaning
of the messages.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import uuid
from collections.abc import Callable
from pathlib import Path

logger = logging.getLogger(__name__)

_LONGEST = 4096  # bytes of a message


class Siblings:
    def __init__(self, folder: Path, heard: Callable[[bytes], None]) -> None:
        """Call it in the running loop; `heard` is called there with each message from another worker."""
        self._heard = heard
        self._place = folder / uuid.uuid4().hex[:8]  # short: a socket's path may have about a hundred characters
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._alone = False
        try:
            self._socket.bind(str(self._place))
        except OSError as error:  # the temporary folder has a very long name
            self._alone = True
            self._socket.close()
            logger.warning("workers cannot reach each other in %s: %s", folder, error)
        else:
            self._loop.add_reader(self._socket, self._read)

    def tell(self, word: bytes) -> None:
        if self._alone:
            return
        if len(word) > _LONGEST:
            logger.warning("a message of %d bytes is too long for other workers", len(word))
            return
        for place in self._place.parent.iterdir():
            if place != self._place:
                self._send(word, place)

    def _send(self, word: bytes, place: Path) -> None:
        try:
            self._socket.sendto(word, str(place))
        except (ConnectionRefusedError, FileNotFoundError):  # a worker that has ended
            place.unlink(missing_ok=True)
        except BlockingIOError:
            logger.warning("another worker is too busy to listen")

    def _read(self) -> None:
        self._heard(self._socket.recv(_LONGEST))

    def close(self) -> None:
        if self._alone:
            return
        self._loop.remove_reader(self._socket)
        self._socket.close()
        self._place.unlink(missing_ok=True)
