"""Django's settings, made of a contest's folder: there is no settings module to edit."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.apps import AppConfig

from tracearena.errors import ParameterError
from tracearena.server.store.database import database_settings
from tracearena.server.store.folder import Folder, Secrets

MEMORY_KIB = 19_456
"""Memory that one hash of a password takes."""
LOGIN_S = 14 * 24 * 3600
ENGLISH = "en"
LANGUAGES = [(ENGLISH, "English"), ("ja", "日本語")]
"""By code; each has its catalogue under ``locale/`` and calls itself as its readers do."""
_HOST = re.compile(r"\.?[a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]", re.ASCII | re.IGNORECASE)
_IPV6_PREFIX_BITS = 64
"""Bits of an IPv6 address that one customer does not choose freely."""
_CONTEST_SETTINGS = (
    "CONTEST_FOLDER",
    "CONTEST_SECRETS",
    "CONTEST_ADDRESS",
    "SECRET_KEY",
    "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS",
    "SESSION_COOKIE_SECURE",
    "CSRF_COOKIE_SECURE",
    "DATABASES",
)


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where the server is reached.

    Parameters
    ----------
    hosts
        Names under which browsers reach it, besides loopback.
    secure
        Whether browsers reach it by HTTPS only: cookies are then never sent in clear.
    trusted_proxies
        Addresses whose forwarded headers count.
    """

    hosts: Sequence[str] = ()
    secure: bool = False
    trusted_proxies: Sequence[str] = ()

    def __post_init__(self) -> None:
        for host in self.hosts:
            if not _HOST.fullmatch(host):
                wanted = (
                    "a name such as contest.example.org, without https:// and port; * would accept every name"
                )
                raise ParameterError.of("--allowed-host", host, wanted)
        for proxy in self.trusted_proxies:
            if not _is_address(proxy):
                wanted = "one address such as 10.0.0.2, as requests come from it; repeat it for more"
                raise ParameterError.of("--trusted-proxy", proxy, wanted)


def _is_address(text: str) -> bool:
    """Whether a text is an address in the very form in which requests show it."""
    try:
        return str(ipaddress.ip_address(text)) == text
    except ValueError:
        return False


def network_of(address: str) -> str:
    """Return an address, of IPv6 the network that one customer has: all its addresses are one.

    >>> network_of("192.0.2.7"), network_of("2001:db8::1:2:3:4")
    ('192.0.2.7', '2001:db8::/64')
    """
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv6Address) and known.ipv4_mapped is None:
        return str(ipaddress.ip_network((int(known), _IPV6_PREFIX_BITS), strict=False))
    return str(known)


def configure(folder: Folder, address: Address | None = None, *, database: str | None = None) -> None:
    """Prepare Django for one contest in this process, or turn to another one.

    Parameters
    ----------
    folder
        The contest.
    address
        Where it is reached; loopback if left out.
    database
        Another database than the one that `server.json` names.
    """
    import django
    from django.conf import settings

    secrets = folder.read_secrets()
    wanted = _build_settings(folder, address or Address(), secrets, database or secrets.database)
    if settings.configured:
        _switch_contest(wanted)
        return
    settings.configure(**wanted)
    django.setup()


def _switch_contest(wanted: dict[str, Any]) -> None:
    """Turn to another contest: what hangs on the folder changes, what Django has loaded stays."""
    from django.conf import settings
    from django.db import connections

    connections.close_all()
    for name in _CONTEST_SETTINGS:
        setattr(settings, name, wanted[name])
    if hasattr(connections._connections, "default"):
        del connections["default"]
    connections.settings = connections.configure_settings(wanted["DATABASES"])
    connections.__dict__["databases"] = connections.settings


def _build_settings(folder: Folder, address: Address, secrets: Secrets, url: str | None) -> dict[str, Any]:
    return {
        "CONTEST_FOLDER": folder,
        "CONTEST_SECRETS": secrets,
        "CONTEST_ADDRESS": address,
        "SECRET_KEY": secrets.secret_key,
        "DEBUG": False,
        "ALLOWED_HOSTS": ["localhost", "127.0.0.1", "[::1]", *address.hosts],
        "CSRF_TRUSTED_ORIGINS": [f"https://{host}" for host in address.hosts] if address.secure else [],
        "ROOT_URLCONF": "tracearena.server.web.urls",
        "WSGI_APPLICATION": None,
        "INSTALLED_APPS": [
            "tracearena.server.settings.ServerConfig",
            "django.contrib.auth",
            "django.contrib.contenttypes",
            "django.contrib.sessions",
        ],
        "MIDDLEWARE": [
            "tracearena.server.web.middleware.SecurityHeadersMiddleware",
            "tracearena.server.web.middleware.LanguageMiddleware",
            "tracearena.server.errors.ErrorMiddleware",
            "whitenoise.middleware.WhiteNoiseMiddleware",
            "tracearena.server.web.middleware.ProxyMiddleware",
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.common.CommonMiddleware",
            "tracearena.server.uploads.BodyLimitMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        "TEMPLATES": [
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "APP_DIRS": True,
                "OPTIONS": {"context_processors": ["tracearena.server.web.middleware.add_page_context"]},
            }
        ],
        "DATABASES": {"default": database_settings(folder, url)},
        "AUTH_USER_MODEL": "contest.Member",
        "PASSWORD_HASHERS": ["tracearena.server.accounts.Argon2"],
        "AUTH_PASSWORD_VALIDATORS": [
            {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
             "OPTIONS": {"min_length": 10}},
            {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
            {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
        ],
        "LOGIN_URL": "/login",
        "SESSION_ENGINE": "tracearena.server.accounts",
        "SESSION_COOKIE_AGE": LOGIN_S,
        "SESSION_COOKIE_HTTPONLY": True,
        "SESSION_COOKIE_SAMESITE": "Lax",
        "SESSION_COOKIE_SECURE": address.secure,
        "CSRF_COOKIE_SECURE": address.secure,
        "CSRF_COOKIE_HTTPONLY": True,
        "SECURE_PROXY_SSL_HEADER": None,
        "SECURE_REDIRECT_EXEMPT": [],
        "USE_TZ": True,
        "TIME_ZONE": "UTC",
        "LANGUAGE_CODE": ENGLISH,
        "LANGUAGES": LANGUAGES,
        "LANGUAGE_COOKIE_NAME": "language",
        "STATIC_URL": "/static/",
        "STATIC_ROOT": str(Path(__file__).parent / "static"),
        "WHITENOISE_USE_FINDERS": False,
        "WHITENOISE_ALLOW_ALL_ORIGINS": False,
        "CSRF_FAILURE_VIEW": "tracearena.server.errors.handle_csrf_failure",
        "DATA_UPLOAD_MAX_MEMORY_SIZE": 2**20,
        "FILE_UPLOAD_MAX_MEMORY_SIZE": 0,
        "FILE_UPLOAD_HANDLERS": ["tracearena.server.uploads.SealingUploadHandler"],
        "DEFAULT_AUTO_FIELD": "django.db.models.BigAutoField",
        "LOGGING": _LOGGING,
    }  # fmt: skip


_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "tracearena": {"level": "INFO"},
        "django.request": {"level": "ERROR"},
        # Anybody can send wrong hosts and forged forms, as many as they like: nothing to fill a disk with.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "django.security.csrf": {"level": "ERROR"},
    },
}


class ServerConfig(AppConfig):
    """One application: the contest."""

    name = "tracearena.server"
    label = "contest"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Let the sentences of rules and pictures be translated with those of the pages."""
        from django.utils.translation import gettext, ngettext

        from tracearena.i18n import set_translators

        set_translators(gettext, ngettext)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
