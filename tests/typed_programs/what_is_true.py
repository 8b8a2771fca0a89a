"""A command by which users look at what is held true of them, and correct it."""

from datetime import datetime, timedelta
from typing import assert_type

from amemorix import Memory
from amemorix.operation_types import Changed, CorrectionPlan, CorrectionPreview, FactDetail, FactItem, Facts


def about(memory: Memory, user: str) -> list[FactItem]:
    facts = memory.call("memory_fact_admin", action="list", person_id=user, scope="all", status=["active"])
    assert_type(facts, Facts)
    last_year = datetime.now() - timedelta(days=365)
    memory.call("memory_fact_admin", action="query", person_id=user, text="home", as_of=last_year, scope="all")
    return facts["items"]


def correct(memory: Memory, user: str, text: str) -> None:
    preview = memory.call("memory_correction_admin", action="preview", text=text, user_id=user)
    assert_type(preview, CorrectionPreview)
    plan = memory.call("memory_correction_admin", action="execute", plan_id=preview["plan_id"], confirmed=True)
    assert_type(plan, CorrectionPlan)


def replace(memory: Memory, fact: str, value: str) -> None:
    assert_type(memory.call("memory_fact_admin", action="get", fact_id=fact), FactDetail)
    assert_type(memory.call("memory_fact_admin", action="supersede", fact_id=fact, value=value), Changed)
    memory.call("memory_fact_admin", action="supersede", factid=fact, value=value)  # error
    memory.call("memory_fact_admin", action="list", scope="all", status=["valid"])  # error
    memory.call("memory_fact_admin", person_id="ann")  # error
