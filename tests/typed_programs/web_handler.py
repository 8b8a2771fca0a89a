"""A handler that awaits a client."""

from typing import assert_type

from amemorix import AsyncClient
from amemorix.operation_types import PersonProfile


async def greeting(client: AsyncClient, user: str) -> str:
    profile = await client.call("get_person_profile", person_id=user, user_id=user)
    assert_type(profile, PersonProfile)
    assert_type(profile["items"][0]["statement"], str)
    await client.call("get_person_profile", user_id=user)  # error
    await client.call("get_person_profile", person_id=user, limt=3)  # error
    client.call("get_person_profile", person_id=user)["summary"]  # error
    return f"Hello {profile['person_name']}"
