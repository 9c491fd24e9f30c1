"""Messages between a process and its workers, objects with their arrays beside them, and exceptions."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["channel", "packets", "process_settings", "program_state", "raised", "undelivered", "unsent"]

if TYPE_CHECKING:
    from penstock.engine.transport import channel, packets, process_settings, program_state, raised, undelivered, unsent
else:
    __getattr__ = files_on_demand(__name__, __all__)
