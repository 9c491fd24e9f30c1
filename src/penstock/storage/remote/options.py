"""`storage_options=` in the words of pandas and fsspec, or of polars and obstore, for the store of a URL."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, SupportsFloat, cast

from penstock.core.checks import check_local_path
from penstock.core.errors import PlanError
from penstock.core.sizes import parse_size

_S3 = {"key": "access_key_id", "secret": "secret_access_key", "endpoint_url": "endpoint", "region_name": "region"}
_S3_WORDS = {
    *("access_key_id", "secret_access_key", "token", "session_token", "endpoint", "region", "default_region"),
    *("skip_signature", "request_payer", "virtual_hosted_style_request", "imdsv1_fallback", "unsigned_payload"),
    *("bucket", "bucket_name", "s3_express", "sse_kms_key_id", "server_side_encryption", "container_credentials"),
}
_GCS_WORDS = {
    *("service_account", "service_account_path", "service_account_key", "application_credentials"),
    *("skip_signature", "base_url", "bucket"),
}
_AZURE = {"account": "account_name", "key": "account_key", "connection_string": "connection_string"}
_AZURE_WORDS = {
    *("account_name", "account_key", "sas_token", "sas_key", "client_id", "client_secret", "tenant_id", "authority_id"),
    *("endpoint", "use_emulator", "skip_signature", "container_name", "use_azure_cli", "federated_token_file"),
    *("bearer_token", "token", "msi_endpoint", "object_id", "use_fabric_endpoint", "authority_host"),
}
_OTHERS = ({"client_kwargs", "profile", "use_ssl"}, {"client_kwargs", "headers"})  # of stores, and of web servers
_CONTAINERS = {"bucket", "bucket_name", "container_name"}
_HOST = re.compile(r"[\w.:-]+")
CLIENT_OPTIONS = {"allow_http", "allow_invalid_certificates", "proxy_url", "timeout", "connect_timeout", "user_agent"}
"""Options of the HTTP client, the same for all stores."""
OWN_OPTIONS = {"retry_seconds", "cache_dir", "cache_bytes", "index_beside"}
"""Options of Penstock itself, the same for all stores."""


def with_checked_own(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with those of Penstock itself checked, and the cache folder as an absolute path.

    >>> with_checked_own({"retry_seconds": 5, "key": "a"})
    {'retry_seconds': 5, 'key': 'a'}
    """
    checked = dict(given)
    if (bad := next((name for name in checked if not isinstance(name, str)), None)) is not None:
        raise PlanError(f"storage_options={{{bad!r:.40}: ...}}: expected the name of an option as a string")
    if isinstance(size := checked.get("cache_bytes"), str):
        try:
            checked["cache_bytes"] = parse_size(size)
        except ValueError as error:
            raise PlanError(f"storage_options={{'cache_bytes': ...}}: {error}") from None
    for name in ("retry_seconds", "cache_bytes"):
        value = checked.get(name, 0)
        if not isinstance(value, SupportsFloat) or isinstance(value, bool) or not float(value) >= 0:
            raise PlanError(f"storage_options={{{name!r}: ...}}: expected a number, not below 0")
    if checked.get("cache_bytes") == math.inf:
        raise PlanError("storage_options={'cache_bytes': inf}: expected a number of bytes")
    if not isinstance(checked.get("index_beside", True), bool):
        raise PlanError("storage_options={'index_beside': ...}: expected True or False")
    folder = checked.get("cache_dir")
    if folder is not None:
        if not isinstance(folder, str | os.PathLike):
            raise PlanError("storage_options={'cache_dir': ...}: expected the path of a folder")
        checked["cache_dir"] = os.path.abspath(
            os.path.expanduser(check_local_path("storage_options", "cache_dir", folder))
        )
    return checked


def translated(scheme: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the options of an obstore store, and those of its client; raise a `PlanError` for an unknown name.

    >>> translated("s3", {"key": "a", "secret": "b", "client_kwargs": {"endpoint_url": "http://localhost:5000"}})
    ({'access_key_id': 'a', 'secret_access_key': 'b', 'endpoint': 'http://localhost:5000'}, {'allow_http': True})
    """
    names, prefixes, words = _NAMES[scheme]
    config: dict[str, Any] = {}
    client: dict[str, Any] = {}
    for name, value in _flat(given).items():
        word = name.lower()
        if isinstance(value, str) and not value.isprintable() and word != "service_account_key":
            raise PlanError(
                f"storage_options={{{name!r}: ...}}: it has a line end or another control character; strip it"
            )
        if word in CLIENT_OPTIONS:
            is_seconds = word in ("timeout", "connect_timeout") and isinstance(value, int | float)
            client[word] = f"{value}s" if is_seconds else value
        elif word == "headers" and scheme == "http":
            client["default_headers"] = _checked_headers(value)
        elif word == "use_ssl":
            client["allow_http"] = not value
        elif word == "token" and scheme == "gs":
            config.update({"skip_signature": True} if value == "anon" else {"service_account": value})
        else:
            plain = next((word.removeprefix(prefix) for prefix in prefixes if word.startswith(prefix)), word)
            plain = names.get(plain, plain)
            if plain not in words:
                known = ", ".join(sorted({*words, *names, *CLIENT_OPTIONS, *OWN_OPTIONS, *_OTHERS[scheme == "http"]}))
                raise PlanError(f"storage_options={{{name!r}: ...}}: unknown for {scheme}://; expected some of {known}")
            if plain in _CONTAINERS:  # another one than that of the URL would be read
                raise PlanError(f"storage_options={{{name!r}: ...}}: name it in the URL alone, as {scheme}://name/key")
            config[plain] = value
    for name in ("endpoint", "base_url"):
        if config.get(name) is not None and _checked_endpoint(name, config[name]).startswith("http://"):
            client.setdefault("allow_http", True)
    return {name: value for name, value in config.items() if value is not None}, client


def _checked_endpoint(name: str, value: Any) -> str:
    """Return the URL of a server; raise a `PlanError` that does not show it, since it may hold a password."""
    from urllib.parse import urlsplit

    with suppress(ValueError):  # of a port that is not a number
        parts = urlsplit(value if isinstance(value, str) else "")
        if parts.scheme in ("http", "https") and parts.port != 0 and _HOST.fullmatch(parts.hostname or ""):
            return value
    told = "endpoint_url" if name == "endpoint" else name
    raise PlanError(
        f"storage_options={{{told!r}: ...}}, or the environment: expected the URL of the server, such as "
        "'https://host:9000' or 'http://localhost:9000'"
    )


def _checked_headers(value: Any) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        raise PlanError("storage_options={'headers': ...}: expected a dict of names and values")
    pairs = cast("Mapping[Any, Any]", value).items()
    if not all(isinstance(text, str) and text.isprintable() for pair in pairs for text in pair):
        raise PlanError(
            "storage_options={'headers': ...}: a name or value is not a string, or has a line end or another "
            "control character; strip it"
        )
    return value


def _flat(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with those of fsspec's inner dicts beside the others, without Penstock's own."""
    flat: dict[str, Any] = {}
    for name, value in given.items():
        if name == "client_kwargs" and isinstance(value, Mapping):
            flat.update({str(inner): given for inner, given in value.items()})
        elif name == "config_kwargs" and isinstance(value, Mapping):
            style = value.get("s3")
            is_virtual = isinstance(style, Mapping) and style.get("addressing_style") == "virtual"
            flat["virtual_hosted_style_request"] = is_virtual
        elif name not in OWN_OPTIONS:
            flat[str(name)] = value
    return flat


_EVERYWHERE = {"anon": "skip_signature", "requester_pays": "request_payer"}
_NAMES: dict[str, tuple[dict[str, str], tuple[str, ...], set[str]]] = {
    "s3": ({**_S3, **_EVERYWHERE}, ("aws_",), _S3_WORDS),
    "gs": (_EVERYWHERE, ("google_",), _GCS_WORDS),
    "az": ({**_AZURE, **_EVERYWHERE}, ("azure_storage_", "azure_"), _AZURE_WORDS),
    "http": ({}, (), set()),
}
