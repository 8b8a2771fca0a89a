"""A bot that remembers what its users say."""

from typing import assert_type

from amemorix import Memory
from amemorix.frontends.python.results import Added, Context, Facts, Forgotten, Hits, Memo, Profile, Texts

memory = Memory("./memory", settings={"embedding.provider": "none"})
assert_type(memory.add("I live in Leeds and have two cats", user="ann"), Added)
memory.add("Meet at nine", chat="club", usr="ann")  # error
hits = memory.search("where does ann live?", user="ann", limit=3)
assert_type(hits, Hits)
assert_type(hits[0], Memo)
assert_type(hits[0].text, str)
assert_type([fact.value for fact in hits.facts], list[str])
print(hits[0].txt)  # error
memory.search("cats", user="ann", limit="3")  # error
assert_type(memory.context([{"role": "user", "content": "hello"}], user="ann"), Context)
assert_type(memory.profile("ann"), Profile)
assert_type(memory.facts("ann", chat="club"), Facts)
assert_type(memory.texts(chat="club"), Texts)
assert_type(memory.get("p1"), Memo | None)
assert_type(memory.forget(user="ann", purge=True), Forgotten)
memory.forget(person="ann")  # error
memory.close()
