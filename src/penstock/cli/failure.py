"""Display of the user's exceptions as Python shows them, and of Penstock's in the words of a command line."""

from __future__ import annotations

import re
import sys
import traceback
from pathlib import Path

from penstock.core.shown import without_credentials

_PACKAGE = str(Path(__file__).parent.parent)

_ENVIRONMENT = {  # where a command finds what a program gives as `storage_options=`, by the schemes of URLs
    "s3|r2": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SKIP_SIGNATURE=true for a public store; AWS_REGION; "
    "AWS_ENDPOINT_URL",
    "gs": "GOOGLE_SERVICE_ACCOUNT, the path of a key file, or GOOGLE_SKIP_SIGNATURE=true for a public store",
    "az|abfss?": "AZURE_STORAGE_ACCOUNT_NAME, with AZURE_STORAGE_ACCOUNT_KEY, or AZURE_SKIP_SIGNATURE=true for a "
    "public store",
    "hf": "HF_TOKEN",
}
_IN_COMMANDS = (
    ("overwrite=True", "--overwrite"),
    ("storage_options= with keys", "keys in the environment"),
    (", or anon=True for a public store", ""),
    ("storage_options= or in the environment", "the environment"),
    ("storage_options={'region': ...}", "the region in the environment"),
    ("storage_options=", "the environment"),
)


def for_commands(error: BaseException) -> str:
    """Return the text and the notes of an error, with what a command takes instead of arguments of Python.

    >>> for_commands(FileExistsError("a.tar exists already; remove it, or pass overwrite=True"))
    'a.tar exists already; remove it, or pass --overwrite'
    """
    text = without_credentials("\n".join([str(error), *getattr(error, "__notes__", ())]))
    names_options = "storage_options=" in text
    for python, command in _IN_COMMANDS:
        text = text.replace(python, command)
    told = next((told for schemes, told in _ENVIRONMENT.items() if re.search(rf"\b({schemes})://", text)), None)
    return f"{text} (environment: {told})" if names_options and told else text


def print_error(error: Exception) -> None:
    """Print the error as Python does, with its notes, and without frames of other code than the user's."""
    shown = traceback.TracebackException.from_exception(error)
    each: traceback.TracebackException | None = shown
    while each is not None:
        each.stack = traceback.StackSummary.from_list([frame for frame in each.stack if _is_users(frame.filename)])
        each = each.__cause__ or each.__context__
    sys.stdout.flush()
    print("\n", *shown.format(), sep="", end="", file=sys.stderr)


def _is_users(file: str) -> bool:
    return not file.startswith((_PACKAGE, "<frozen importlib"))
