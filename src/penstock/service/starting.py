"""Find the process that prepares the elements of a name, or start it."""

from __future__ import annotations

import os
import socket
import threading
from contextlib import suppress

from penstock.engine.tuning.settings import settings_of
from penstock.engine.workers.processes.starting import PoolSetup, interpreter
from penstock.plan.node import Node
from penstock.service.folder import ServiceDoor, is_of_this_user, runtime_folder, service_door

SERVES = "penstock.service.server"
"""The program of a process that prepares elements for others."""
BACKLOG = 128  # connections that the service has not accepted yet
LAST_BYTES = 2000  # of the log of a service, that an error shows


def connected(name: str, plan: Node) -> socket.socket:
    """Return a connection to the service of a name; start one for `plan` if there is none."""
    folder = runtime_folder()
    with service_door(name, folder) as door:
        end = _to_service(door)
        if end is None:
            door.remove()  # of a service that was killed
            end = _to_new_service(door, folder, name, plan)
        if is_of_this_user(end):
            return end
        end.close()
        raise PermissionError(f"share({name!r}): the service in {folder} belongs to another user; remove that folder")


def _to_service(door: ServiceDoor) -> socket.socket | None:
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        end.connect(door.address)
    except (FileNotFoundError, ConnectionRefusedError):
        end.close()
        return None
    except BaseException:
        end.close()
        raise
    return end


def _to_new_service(door: ServiceDoor, folder: str, name: str, plan: Node) -> socket.socket:
    """Start a service, and return a connection to it.

    It belongs to no process: the system ends it with none, and no terminal interrupts it. It begins once the door is
    unlocked, and ends at once if nobody has connected by then.
    """
    settings = settings_of(plan)
    budget = settings.given_budget
    setup = PoolSetup(1, settings.native_threads, budget, SERVES, settings.cores)
    log = os.open(door.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600, dir_fd=door.folder)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        try:
            listening.bind(door.address)
            listening.listen(BACKLOG)
            passed = listening.fileno()
            told = {"listening": passed, "folder": folder, "name": name}
            process = interpreter(setup, told, [passed], output=log, is_detached=True)
            end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            end.connect(door.address)
        except BaseException:
            door.remove()
            raise
        finally:
            os.close(log)
    process.returncode = 0  # it is none of ours: only the thread waits for it, so that no zombie is left
    threading.Thread(target=_wait_for, args=[process.pid], name="penstock-service", daemon=True).start()
    return end


def _wait_for(pid: int) -> None:
    with suppress(ChildProcessError):  # other code has waited for all children
        os.waitpid(pid, 0)


def remove_left(name: str) -> None:
    """Remove what a service of a name has left that ended without doing so."""
    with service_door(name) as door:
        end = _to_service(door)
        if end is None:
            door.remove()
        else:
            end.close()


def last_words(name: str) -> str:
    """Return the end of what the last service of a name wrote to its output."""
    with service_door(name) as door, suppress(OSError):
        log = os.open(door.log, os.O_RDONLY, dir_fd=door.folder)
        with open(log, "rb") as file:
            return file.read()[-LAST_BYTES:].decode(errors="replace").strip()
    return "it wrote nothing"
