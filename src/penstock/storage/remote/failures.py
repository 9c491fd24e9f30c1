"""Why a request failed: one classification of all errors of stores, and one sentence for each kind."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, NamedTuple

from penstock.core.errors import DataError, PlanError


class Reason(Enum):
    """The kind of a failure."""

    MISSING = "missing"
    GONE = "gone"
    NO_CONTAINER = "no container"
    DENIED = "denied"
    WRONG_KEYS = "wrong keys"
    NO_KEYS = "no keys"
    EXPIRED = "expired"
    CLOCK = "clock"
    CHANGED = "changed"
    NO_RANGES = "no ranges"
    OUTSIDE = "outside"
    REGION = "region"
    FORKED = "forked"
    OPTION = "option"
    BAD_KEY = "bad key"
    PANIC = "panic"
    METHOD = "method"
    SLOW_DOWN = "slow down"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    SERVER = "server"
    METADATA = "metadata"
    SHORT = "short"
    OTHER = "other"

    @property
    def is_passing(self) -> bool:
        """Return whether the same request may succeed later."""
        return self in _PASSING


_PASSING = {Reason.SLOW_DOWN, Reason.TIMEOUT, Reason.CONNECTION, Reason.SERVER, Reason.SHORT, Reason.METADATA}


class StoreFailure(NamedTuple):
    """The kind of a failure, and its details in words: they never quote the text of the error, which may hold keys."""

    kind: Reason
    details: str


class ChangedError(Exception):
    """An object has another tag or size than when it was found."""


class ShortError(Exception):
    """A response has another number of bytes than requested."""


class NoRangesError(Exception):
    """A server returned the whole object instead of a range."""


class ForkedError(Exception):
    """A store was used in the parent process before this one was forked."""


class PanicError(Exception):
    """The library of a store broke instead of raising an error."""


_OWN: dict[type[BaseException], Reason] = {
    ChangedError: Reason.CHANGED,
    ShortError: Reason.SHORT,
    NoRangesError: Reason.NO_RANGES,
    ForkedError: Reason.FORKED,
    PanicError: Reason.PANIC,
}
# Codes in the answers of S3, Google and Azure, in lower case.
_CODES = {
    **dict.fromkeys(("nosuchbucket", "containernotfound", "notfoundbucket"), Reason.NO_CONTAINER),
    **dict.fromkeys(
        ("expiredtoken", "tokenrefreshrequired", "requestexpired", "expiredtokenexception"), Reason.EXPIRED
    ),
    **dict.fromkeys(
        ("invalidaccesskeyid", "signaturedoesnotmatch", "invalidtoken", "authenticationfailed", "invalidsecurity"),
        Reason.WRONG_KEYS,
    ),
    **dict.fromkeys(("nosuchkey", "blobnotfound", "nosuchversion"), Reason.MISSING),
    **dict.fromkeys(
        ("slowdown", "throttling", "throttlingexception", "toomanyrequests", "serverbusy", "requestlimitexceeded"),
        Reason.SLOW_DOWN,
    ),
    **dict.fromkeys(("permanentredirect", "authorizationheadermalformed", "illegallocationconstraint"), Reason.REGION),
    "preconditionfailed": Reason.CHANGED,
    "conditionnotmet": Reason.CHANGED,
    "invalidrange": Reason.OUTSIDE,
    "requesttimeout": Reason.TIMEOUT,
    "internalerror": Reason.SERVER,
    "serviceunavailable": Reason.SERVER,
    "accessdenied": Reason.DENIED,
    "requesttimetooskewed": Reason.CLOCK,
}
_METHOD_STATUSES = {405, 501}
_STATUSES = {
    401: Reason.WRONG_KEYS, 403: Reason.DENIED, 404: Reason.MISSING, 408: Reason.TIMEOUT, 412: Reason.CHANGED,
    416: Reason.OUTSIDE, 425: Reason.SERVER, 429: Reason.SLOW_DOWN,
    **dict.fromkeys(range(500, 600), Reason.SERVER), 505: Reason.OTHER,
}  # fmt: skip
_TYPES: tuple[tuple[str, Reason], ...] = (
    ("UnauthenticatedError", Reason.NO_KEYS),
    ("NoCredentialsError", Reason.NO_KEYS),
    ("PreconditionError", Reason.CHANGED),
    ("FileExpired", Reason.CHANGED),
    ("NotSupportedError", Reason.NO_RANGES),
    ("UnknownConfigurationKeyError", Reason.OPTION),
    ("InvalidPathError", Reason.BAD_KEY),
    ("PermissionDeniedError", Reason.DENIED),
    ("PermissionError", Reason.DENIED),
    ("FileNotFoundError", Reason.MISSING),
    ("TimeoutError", Reason.TIMEOUT),
    ("ConnectionError", Reason.CONNECTION),
    ("ClientConnectionError", Reason.CONNECTION),
    ("ClientPayloadError", Reason.CONNECTION),
    ("IncompleteReadError", Reason.CONNECTION),
)
# Phrases in the texts of errors, without URLs, in lower case.
_PHRASES: tuple[tuple[str, Reason], ...] = (
    (r"token (has |is )?expired|request has expired|invalid_grant", Reason.EXPIRED),
    (
        r"no ?credentials|unable to locate credentials|missing.{0,20}(cred|accesskey)|metadata (server|token|endpoint)",
        Reason.NO_KEYS,
    ),
    (r"non-partial response", Reason.NO_RANGES),
    (r"received redirect without location", Reason.REGION),
    (r"etag.{0,30}(changed|mismatch|match)", Reason.CHANGED),
    (r"kind: timeout|timed out|operation timed|deadline has elapsed", Reason.TIMEOUT),
    (
        (
            r"kind: (connect|request|interrupted|decode|body)|connect|reset|broken pipe|dns|incomplete|end of file|"
            r"unexpected eof|closed|error decoding|error sending request|error reading|body error"
        ),
        Reason.CONNECTION,
    ),
)
# Phrases of errors in given options, in lower case, and the sentence for each.
_OPTIONS: tuple[tuple[str, str], ...] = (
    ("as duration", "a timeout is not a duration such as '30s'"),
    ("as boolean", "an option that is True or False has another value"),
    (
        "service account file|pem file",
        ("the service account cannot be read: expected the path of its JSON file, or the text in service_account_key"),
    ),
    ("account must be specified", "account_name is missing there and in the environment"),
    ("invalid access key", "account_key is not a base64 text"),
    ("http header", "a name or value in headers has a character that headers cannot have"),
    ("is not an instance of", "an option has a value of a wrong type"),
    (
        "parse source url|url without a base|domain (name|character)|empty host|builder error",
        "a host has an invalid name, in the URL, endpoint_url, account_name or proxy_url",
    ),
)
# Phrases of broken connections, in lower case, and the words for each.
_CAUSES: tuple[tuple[str, str], ...] = (
    ("connection ?refused", "connection refused"),
    ("dns error|failed to lookup", "the host name has no address"),
    (r"certificate|\btls\b|\bssl\b", "the TLS certificate or protocol is not accepted"),
    ("(connection|stream) ?reset", "connection reset"),
    ("unreachable", "the host cannot be reached"),
)
_BAD_KEY = re.compile(r'Path "(.{1,300}?)"(?: contained|: Encountered)', re.DOTALL)
_METADATA = re.compile(r"169\.254\.169\.254|/latest/(api/token|meta-data)|metadata\.google|/metadata/identity")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_INNER = re.compile(r"source: ([A-Z][A-Za-z]{2,40})(?: \{|\(|,\n)")  # a type of the library
_CODE = re.compile(r"<Code>(\w{1,64})</Code>|\((\w{1,64})\) when calling")
_STATUS = re.compile(r"\bstatus(?: code)?: ([1-5]\d\d)\b", re.IGNORECASE)
_NOISE = re.compile(r"https?://\S+|retry_timeout: \S+|elapsed: \S+|path: \S+|location \S+", re.IGNORECASE)
_REFINED = {Reason.NO_KEYS, Reason.EXPIRED, Reason.REGION}


def classify(error: BaseException) -> StoreFailure:
    """Return why a request failed, from the types and texts of an error and of all errors that led to it.

    The code of the store's answer decides, else the type of an error, else a status, else phrases in the texts.

    >>> classify(OSError("status code: 503 <Code>SlowDown</Code>"))
    StoreFailure(kind=<Reason.SLOW_DOWN: 'slow down'>, details='SlowDown, status 503')
    """
    chain = list(_chain(error))
    texts = [_NOISE.sub("", str(each)) for each in chain]
    own = next((kind for each in chain if (kind := _OWN.get(type(each))) is not None), None)
    if own is not None:
        return StoreFailure(own, "")
    codes = [found[1] or found[2] for text in texts for found in _CODE.finditer(text)]
    statuses = [int(found[1]) for text in texts for found in _STATUS.finditer(text)]
    statuses += [status for each in chain if isinstance(status := _status_of(each), int)]
    whole = "\n".join(texts).lower()
    details = ", ".join([*codes[:1], *(f"status {status}" for status in statuses[:1])]) or _details(chain, whole)
    if statuses and statuses[0] in _METHOD_STATUSES:  # which libraries take for a missing object
        return StoreFailure(Reason.METHOD, details)
    names = {kind.__name__ for each in chain for kind in type(each).__mro__}
    of_type = next((kind for name, kind in _TYPES if name in names), None)
    if not (codes or statuses or of_type is not None):
        option = next((words for pattern, words in _OPTIONS if re.search(pattern, whole)), None)
        if option is not None:
            return StoreFailure(Reason.OPTION, option)
    phrase = next((kind for pattern, kind in _PHRASES if re.search(pattern, whole)), None)
    if phrase in (Reason.CONNECTION, Reason.TIMEOUT) and any(_METADATA.search(str(each)) for each in chain):
        return StoreFailure(Reason.METADATA, details)  # credentials are looked for there if none are given
    found = [
        next((_CODES[code.lower()] for code in codes if code.lower() in _CODES), None),
        phrase if phrase in _REFINED else None,
        of_type,
        next((_STATUSES[status] for status in statuses if status in _STATUSES), None),
        phrase,
    ]
    return StoreFailure(next((kind for kind in found if kind is not None), Reason.OTHER), details)


def _status_of(error: BaseException) -> Any:
    """Return the status of an answer, where an error of aiohttp, requests, httpx or the Hugging Face hub has it."""
    response = getattr(error, "response", None)
    return getattr(error, "status", None) or getattr(response, "status_code", None)


def _details(chain: list[BaseException], whole: str) -> str:
    """Return the known cause of an error, or its type and the type of the error inside it: no text that it quotes."""
    if (key := _BAD_KEY.search("\n".join(map(str, chain)))) is not None:
        return repr(key[1])
    if (cause := next((words for pattern, words in _CAUSES if re.search(pattern, whole)), None)) is not None:
        return cause
    inner = _INNER.findall(_QUOTED.sub('""', str(chain[0])))
    return ": ".join([type(chain[0]).__name__, *inner[-1:]])


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, and all those that led to it, each once."""
    seen: set[int] = set()
    left = [error]
    while left:
        each = left.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        left += [other for other in (each.__cause__, each.__context__) if other is not None]


def failed(
    failure: StoreFailure, what: str, tries: int = 1, seconds: float = 0.0, *, action: str = "read it"
) -> Exception:
    """Return the error to raise for an object, or an operation, after a number of tries of an action.

    An `OSError` has the URL as `filename`; changed data, and a server that cannot be read from, is a `DataError`.
    """
    told = f" ({failure.details})" if failure.details else ""
    if failure.kind is Reason.OPTION:
        return PlanError(f"{what}: {failure.details}; correct storage_options=")
    if failure.kind is Reason.PANIC:
        return PlanError(f"{what}: the library of this store cannot make a request; check the URL and storage_options=")
    if failure.kind in _DATA:
        return DataError(f"{what}: {_DATA[failure.kind].format(told=told)}")
    number, words = _OTHERS[failure.kind]
    tried = f" after {tries} tries in {seconds:.0f} s" if tries > 1 else ""
    return OSError(number, words.format(told=told, tried=tried, action=action), str(what))


_DATA = {
    Reason.CHANGED: "the object was replaced since the dataset was made{told}; make the dataset again",
    Reason.OUTSIDE: "the object has fewer bytes than the store said before{told}; make the dataset again",
    Reason.NO_RANGES: "the server returns only whole files, not ranges of bytes{told}; download the file once, or "
    "serve it by a server with ranges",
    Reason.BAD_KEY: "the store has an object whose key{told} cannot be requested, because of '//', '.', '..' or a "
    "control character in it; rename the object, or read below another prefix",
}
_OTHERS = {
    Reason.MISSING: (errno.ENOENT, "there is no such object{told}; check the name"),
    Reason.GONE: (
        errno.ENOENT,
        "the object is gone, which was there when the dataset was made{told}; make or load the dataset again",
    ),
    Reason.NO_CONTAINER: (
        errno.ENOENT,
        "there is no such bucket or container{told}; check the name, and endpoint_url= of a store of your own",
    ),
    Reason.DENIED: (errno.EACCES, "access is denied{told}; give storage_options= with keys that may {action}"),
    Reason.WRONG_KEYS: (
        errno.EACCES,
        "the credentials are wrong{told}; check the keys in storage_options= or in the environment",
    ),
    Reason.NO_KEYS: (
        errno.EACCES,
        "there are no credentials{told}; give storage_options= with keys, or anon=True for a public store",
    ),
    Reason.METADATA: (
        errno.EACCES,
        (
            "there are no credentials{told}{tried}: none are given, and no cloud's metadata service answers; give "
            "storage_options= with keys, or anon=True for a public store"
        ),
    ),
    Reason.EXPIRED: (
        errno.EACCES,
        "the credentials have expired, and asking for them again gave no valid ones{told}; renew the token or the URL",
    ),
    Reason.CLOCK: (
        errno.EACCES,
        "the store refuses the time at which this machine says that it asks{told}; set the clock of this machine",
    ),
    Reason.REGION: (errno.EIO, "the bucket is in another region{told}; give storage_options={{'region': ...}}"),
    Reason.FORKED: (
        errno.EIO,
        "the store was already used before this process was forked; start processes by 'spawn' or 'forkserver'",
    ),
    Reason.METHOD: (
        errno.EOPNOTSUPP,
        "the server does not take this kind of request{told}: reading takes HEAD and GET, and writing takes PUT",
    ),
    Reason.SLOW_DOWN: (
        errno.EIO,
        "the store refuses requests as too many{told}{tried}; use fewer processes",
    ),
    Reason.TIMEOUT: (errno.ETIMEDOUT, "the store does not answer in time{told}{tried}; check the network"),
    Reason.CONNECTION: (
        errno.ECONNABORTED,
        "the connection fails{told}{tried}; check the URL and the network",
    ),
    Reason.SERVER: (errno.EIO, "the store fails{told}{tried}; try again later"),
    Reason.SHORT: (
        errno.EIO,
        "the store returns fewer bytes than requested{told}{tried}; check proxies on the way",
    ),
    Reason.OTHER: (errno.EIO, "the request failed{told}{tried}; check the URL, storage_options= and the network"),
}
