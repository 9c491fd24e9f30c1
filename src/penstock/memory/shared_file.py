"""Memory that several processes map: a sealed file in memory, or an unlinked temporary file if memory is short."""

from __future__ import annotations

import mmap
import os
import weakref
from contextlib import suppress

from penstock.memory.limits import available_memory

SPARED = 4  # a reservation may take this part of the memory that is available at most, and leave the others
PAGE_BYTES = mmap.PAGESIZE


class SharedFile:
    """A file of a fixed size without a name: it is gone once no process has it open or mapped.

    Its pages are reserved step by step, each step checked against the memory of the machine and of the control groups
    first: a write to a reserved page never fails, and a write to any other may end the process. If there is no memory
    for the first step, `in_memory` is false and the pages are those of a file on a disk.
    """

    def __init__(self, size: int, first: int) -> None:
        """Reserve the `first` bytes of `size`; raise an `OSError` if neither memory nor a disk has the room."""
        self.size = -(-size // PAGE_BYTES) * PAGE_BYTES
        self.reserved = 0
        self.in_memory = hasattr(os, "memfd_create") and has_memory_for(first)
        if self.in_memory:
            try:
                self.fd = os.memfd_create("penstock", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            except OSError:  # the system refuses it, as some sandboxes do
                self.in_memory = False
        if not self.in_memory:
            import tempfile  # takes several ms

            handle, path = tempfile.mkstemp(prefix="penstock-arena-")
            os.unlink(path)
            self.fd = handle
        self._close = weakref.finalize(self, os.close, self.fd)
        self._close.atexit = False  # a thread may be passing it to a process, and another file would get its number
        try:
            os.truncate(self.fd, self.size)
            self._seal()
            if not self.reserve(first):
                raise OSError(f"there is no room for {first:,} bytes that worker processes share")
        except BaseException:
            self.close()
            raise

    def reserve(self, upto: int) -> bool:
        """Reserve all pages up to this byte; return whether they are reserved."""
        upto = min(-(-upto // PAGE_BYTES) * PAGE_BYTES, self.size)
        if upto > self.reserved:
            if self.in_memory and not has_memory_for(upto - self.reserved):
                return False
            try:
                os.posix_fallocate(self.fd, self.reserved, upto - self.reserved)
            except OSError:
                return False
            self.reserved = upto
        return True

    def give_back(self, beyond: int) -> None:
        """Give the pages beyond this byte, which nobody uses, back to the system; they are to be reserved again."""
        beyond = min(-(-beyond // PAGE_BYTES) * PAGE_BYTES, self.reserved)
        with suppress(OSError, ValueError), mmap.mmap(self.fd, self.size) as whole:  # a disk may have no such call
            whole.madvise(mmap.MADV_REMOVE, beyond, self.reserved - beyond)
            self.reserved = beyond

    def _seal(self) -> None:
        """Forbid every process to change the size, which would end those that have the file mapped."""
        if self.in_memory:
            import fcntl

            with suppress(OSError):
                fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)

    def empty(self) -> None:
        """Give all pages back to the system, also those that other processes map."""
        self.reserved = 0
        with suppress(OSError, ValueError), mmap.mmap(self.fd, self.size) as whole:  # a disk may have no such call
            whole.madvise(mmap.MADV_REMOVE)

    def close(self) -> None:
        """Close the file here; processes that map it keep its memory."""
        self._close()


def has_memory_for(nbytes: int) -> bool:
    """Return whether this many bytes are a safe part of the memory that is available.

    The system does not refuse memory beyond the limit of a control group: it ends a process of the group.
    """
    return nbytes * SPARED <= available_memory()
