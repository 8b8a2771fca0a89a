"""The retrieval settings at work: told, changed in the configuration file, and changed back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field, ValidationError

from ..audit_context import naming
from ..clock import Clock
from ..config import settings
from ..config.model import Config
from ..errors import Conflict, InvalidRequest
from ..ops import Response
from ..runtime_status import Configure
from ..store.metadata_store import MetadataStore
from ..store.ports import Connection
from . import rows as tuning_rows
from .rows import AppliedItem, packed
from .search_space import TUNABLE, Profile, changed, flat, profile_of, with_profile

__all__ = ["ProfileApplied", "RetrievalProfileService"]

MOST_KEPT = 1_000


class ProfileApplied(Response):
    """What was changed."""

    changed: bool = Field(default=False, description="False: everything was so already.")
    history_id: int = 0
    profile: Profile = Field(default_factory=dict)
    previous: Profile = Field(default_factory=dict)


class RetrievalProfileService:
    """Applies profiles through the host, so that they are in the file and outlive a restart.

    What is applied is noted before, with what it takes the place of: after a crash the configuration tells whether it
    came to an end.
    """

    def __init__(self, store: MetadataStore, *, config: Config, configure: Configure | None, clock: Clock) -> None:
        self._store = store
        self._config = config
        self._configure = configure
        self._clock = clock

    def current(self) -> Profile:
        """The settings that tuning may change, as they are."""
        return profile_of(self._config)

    async def history(self, limit: int) -> list[AppliedItem]:
        """What was applied, the newest first."""
        return await self._store.read(lambda db: tuning_rows.profiles(db, limit=limit))

    def read(self, given: Mapping[str, Any], *, validate: bool = True) -> Profile:
        """A profile out of nested or dotted settings, with every value checked.

        Raises InvalidRequest for an empty one, a value that is not allowed, and a setting that tuning does not know;
        without `validate` every setting of retrieval that applies at once may be named.
        """
        profile = dict(flat(given))
        if not profile:
            raise InvalidRequest("profile: name at least one setting.", field="profile")
        live = (one.path for one in settings() if one.path.startswith("retrieval.") and one.reload == "live")
        allowed = frozenset(TUNABLE if validate else live)
        for name in profile:
            if name not in allowed:
                what = "tuning may change" if validate else "of retrieval applies at once"
                raise InvalidRequest(f"profile.{name}: this is no setting that {what}.", field=f"profile.{name}")
        try:
            checked = with_profile(self._config, profile)
        except ValidationError as exc:
            first = exc.errors(include_url=False)[0]
            name = ".".join(map(str, first["loc"]))
            raise InvalidRequest(f"profile.{name}: {first['msg']}.", field=f"profile.{name}") from exc
        known = dict(flat(checked.retrieval, "retrieval."))
        return {name: known[name] for name in profile}

    async def apply(self, profile: Mapping[str, Any], *, reason: str = "", task: int | None = None) -> ProfileApplied:
        """Put the settings that differ into the configuration. Raises Conflict if nobody keeps one, InvalidConfig."""
        configure = self._must_configure()
        before = dict(flat(self._config.retrieval, "retrieval."))
        new = changed(profile, before)
        if not new:
            return ProfileApplied()
        previous = {name: before[name] for name in new}
        naming()(settings=",".join(sorted(new)))
        now = self._clock.now()
        values = packed(task=task, profile=new, previous=previous, reason=reason, now=now)
        id_ = await self._store.write(lambda db: db.run("retrieval_profile_insert", **values).fetchone()[0])
        try:
            await configure(new)
        except BaseException:
            await self._store.write(lambda db: db.run("retrieval_profile_drop", id=id_))
            raise
        await self._store.write(lambda db: db.run("retrieval_profile_applied", id=id_))
        return ProfileApplied(changed=True, history_id=id_, profile=new, previous=previous)

    async def rollback(self, *, validate: bool = True) -> ProfileApplied:
        """Take back the last profile that is at work; one that was begun and never came to be is forgotten.

        Raises Conflict if there is none, or (`validate`) if one of its settings was changed since by another hand.
        """
        configure = self._must_configure()
        now_set = dict(flat(self._config.retrieval, "retrieval."))

        def last_applied(db: Connection) -> AppliedItem | None:
            for one in tuning_rows.profiles(db, ("applied", "applying"), limit=MOST_KEPT):
                if one.status == "applied" or not changed(one.profile, now_set):
                    return one
                db.run("retrieval_profile_drop", id=one.id)
            return None

        last = await self._store.write(last_applied)
        if last is None:
            raise Conflict("No profile has been applied that could be taken back.")
        if validate and (other := changed(last.profile, now_set)):
            names = ", ".join(other)
            raise Conflict(f"Changed since the profile was applied: {names}.", settings=sorted(other))
        naming()(settings=",".join(sorted(last.profile)))
        await configure(last.previous)
        now = self._clock.now()
        await self._store.write(lambda db: db.run("retrieval_profile_rolled_back", id=last.id, now=now))
        return ProfileApplied(changed=True, history_id=last.id, profile=last.previous, previous=last.profile)

    def _must_configure(self) -> Configure:
        if self._configure is None:
            raise Conflict("This memory has no configuration file that could be changed.")
        return self._configure
