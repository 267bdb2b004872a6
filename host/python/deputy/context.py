"""Contexts: configurations, and the delegates that they open."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from . import _native, reports

Path = Union[str, "os.PathLike[str]"]
Settings = Union[Mapping[str, object], Sequence[str]]


@dataclass(frozen=True)
class Progress:
    """A stage of loading or of a first run: "scan", "open", "import", "passes", "placement", "compile",
    "verification" or "measurement"."""

    stage: str
    delegate: str
    subject: str
    number: int
    count: int
    nodes: int
    permille: int
    step: str


ProgressSink = Callable[[Progress], None]


def setting_texts(settings: Settings) -> list[str]:
    """`path.to.key=value`, as `deputy --set` takes them."""
    if isinstance(settings, Mapping):
        return [f"{name}={_yaml(value)}" for name, value in settings.items()]
    if isinstance(settings, str):
        return [settings]
    return list(settings)


def _yaml(value: object) -> str:
    """A value as YAML, of which JSON is a part; a text stands for itself, as on a command line."""
    return value if isinstance(value, str) else json.dumps(value)


class Context:
    """A configuration with its delegates: of this machine and user, and `files` over it, as the command `deputy` reads
    it. A file may be the name of a shipped configuration, such as "cpu-only". `settings` override the files."""

    def __init__(self, *files: Path, settings: Settings = ()) -> None:
        self._native = _native.Context.from_layers([os.fspath(file) for file in files], setting_texts(settings))

    @classmethod
    def _of(cls, native: _native.Context) -> Context:
        made = cls.__new__(cls)
        made._native = native
        return made

    @classmethod
    def from_yaml(cls, path: Path = "", settings: Settings = ()) -> Context:
        """One file alone with its conf.d, without those of the machine and the user; none: the CPU alone."""
        return cls._of(_native.Context.from_yaml(os.fspath(path), setting_texts(settings)))

    @classmethod
    def from_text(cls, text: str, settings: Settings = (), name: str = "configuration") -> Context:
        """A configuration that the program vouches for; `name` is that of the file in messages."""
        return cls._of(_native.Context.from_yaml_text(name, text, setting_texts(settings)))

    @classmethod
    def from_bundle(cls, bundle: Path = "", settings: Settings = ()) -> Context:
        """An installed bundle by its name, or an unpacked folder (a path with "/"); none: $DEPUTY_BUNDLE."""
        return cls._of(_native.Context.from_bundle(os.fspath(bundle), setting_texts(settings)))

    def copy(self) -> Context:
        """Shares the opened delegates; a change of the one does not change the other."""
        return Context._of(self._native.copy())

    def set_delegates(self, delegates: Sequence[Mapping[str, Any]]) -> None:
        """Delegates after those of the configuration, with its keys: name, delegate, device, device_name, required and
        options. Replaces an earlier list."""
        given = []
        for delegate in delegates:
            one = dict(delegate)
            if "options" in one:
                one["options"] = {name: _yaml(value) for name, value in one["options"].items()}
            given.append(one)
        self._native.set_delegates(json.dumps({"delegates": given}))

    def set_option(self, delegate: str, option: str, value: object) -> None:
        """Changes an option of an opened delegate, for runs that begin afterwards."""
        self._native.set_option(delegate, option, _yaml(value))

    def reload(self, next: Context | None = None) -> None:
        """Reads the sources again, or takes those of another context, and puts them in force for the runs that begin
        afterwards, of all models and sessions. An error changes nothing; `health.configuration` tells of it."""
        self._native.reload(None if next is None else next._native)

    def set_progress(self, sink: ProgressSink | None) -> None:
        """Takes the stages of loading, for delegates and models that are opened afterwards."""
        if sink is None:
            self._native.set_progress(None)
            return
        taken = sink

        def give(*fields: Any) -> None:
            taken(Progress(*fields))

        self._native.set_progress(give)

    def check(self) -> None:
        """Whether every delegate that a rule or a log level names is configured, without a scan."""
        self._native.check()

    def load(self) -> None:
        """Finds and opens the delegates now, not with the first model."""
        self._native.load()

    @property
    def delegates(self) -> reports.DelegateListing:
        """As they were opened, which this does if nothing has yet."""
        return reports.from_fields(reports.DelegateListing, self._native.delegates())

    @property
    def configured_delegates(self) -> list[str]:
        """The names of the configuration's entries, which opens none; without those of set_delegates."""
        return [str(one["name"]) for one in self._native.configured_delegates()]

    def plugins(self, probe: Sequence[str] = (), probe_all: bool = False) -> reports.PluginListing:
        """The plugin folders; of delegates of which none is configured, those of `probe` are run, too."""
        query = json.dumps({"probe": list(probe), "probe_all": probe_all})
        return reports.from_fields(reports.PluginListing, self._native.plugins(query))

    @property
    def health(self) -> reports.HealthReport:
        """Failures of the delegates, since they were opened."""
        return reports.from_fields(reports.HealthReport, self._native.health())

    def config(self, plugin_defaults: bool = False) -> str:
        """The configuration in force as YAML, with the origin of each value."""
        return str(self._native.config(plugin_defaults))

    def cache(self, check: bool = False) -> reports.CacheListing:
        return reports.from_fields(reports.CacheListing, self._native.cache(check))

    def purge_cache(self, kinds: Sequence[str] = (), unused_for_s: int = 0) -> list[reports.CacheEntry]:
        """Removes entries, all unless limited, and returns them."""
        removed = self._native.purge_cache(json.dumps({"kinds": list(kinds), "unused_for_s": unused_for_s}))
        return reports.from_fields(reports.CacheListing, removed).entries

    def quarantine(self, name: str | None = None) -> list[reports.QuarantinedPlugin]:
        return [reports.from_fields(reports.QuarantinedPlugin, one) for one in self._native.quarantine(name)]

    def clear_quarantine(self, name: str | None = None) -> list[reports.QuarantinedPlugin]:
        return [reports.from_fields(reports.QuarantinedPlugin, one) for one in self._native.clear_quarantine(name)]


def context_of(config: Context | Path | None, settings: Settings) -> Context:
    """The context for the argument `config` of a model."""
    if isinstance(config, Context):
        if settings:
            raise TypeError("settings belong to a configuration: give them to the Context")
        return config
    return Context(*([] if config is None else [config]), settings=settings)
