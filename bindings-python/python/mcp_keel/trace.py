"""Who is told of the messages of a client or a server.

With `KEEL_TRACE=FOLDER` in the environment every client and server of this process writes down there what it
sends and gets: `ROLE#OBJECT.CONVERSATION > JSON`, a message a line, in a file for each process. Messages hold
what users said: for looking into a problem, not for keeping.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal

# Sees the direction (">" sent, "<" received), the message, and whose it is (see `Server`).
Tell = Callable[[str, str, int], object]

_objects = 0


def tracer(role: Literal["client", "server"], own: Tell | None) -> Tell | None:
    """The user's trace and the journal as one; None when there is neither."""
    folder = os.environ.get("KEEL_TRACE")
    if not folder:
        return own
    kept = _journal(role, folder)
    if own is None:
        return kept

    def both(direction: str, text: str, conversation: int) -> None:
        kept(direction, text, conversation)
        own(direction, text, conversation)

    return both


def _journal(role: str, folder: str) -> Tell:
    global _objects
    _objects += 1
    subject = f"{role}#{_objects}"
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{os.getpid()}.trace")

    def write(direction: str, text: str, conversation: int) -> None:
        # A line feed in JSON is space between its parts.
        line = text.replace("\r", " ").replace("\n", " ")
        with open(path, "a", encoding="utf-8", newline="\n") as file:
            file.write(f"{subject}.{conversation} {direction} {line}\n")

    return write
