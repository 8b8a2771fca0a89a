"""English words that end a phrase, or make it weak."""

from __future__ import annotations

from ..normalise import STOP_WORDS

__all__ = ["CALENDAR", "GROUP_WORDS", "JOINS", "LEADING_ADJECTIVES", "MANNER", "PLACE_WORDS", "STOPS", "WEAK"]

_STOPS_TEXT = """
ago already always called last lately named never next really recently soon still today together tomorrow yesterday
"""
STOPS = STOP_WORDS | frozenset(_STOPS_TEXT.split())
_JOINS_TEXT = """
and of the
"""
JOINS = frozenset(_JOINS_TEXT.split())
_MANNER_TEXT = """
abroad alone daily early fast hard harder late online overseas part-time full-time remotely twice well
"""
MANNER = frozenset(_MANNER_TEXT.split())
"""They say how something is done, and not what."""
_LEADING_ADJECTIVES_TEXT = """
amazing awesome beautiful big cute good great little lovely new nice old own small so such sweet
"""
LEADING_ADJECTIVES = frozenset(_LEADING_ADJECTIVES_TEXT.split())
_WEAK_TEXT = """
best worst same only first last next right wrong
big bit blast challenge chance couple dream fan few gift good great hit honor huge inspiration joy kind lifesaver
little long lot member mess must nice one part pleasure relief reminder sort start surprise total treat type way
"""
WEAK = frozenset(_WEAK_TEXT.split())
_CALENDAR_TEXT = """
absolutely also am and april august btw but bye cheers christmas congrats dad december definitely easter february
friday glad god good halloween happy he hey hi how i i'd i'll i'm i've it january july june just lol march may mom
monday mr mrs ms mum my november october oh ok okay omg our pm really saturday september she so sounds sunday sure
thanks thanksgiving that then they this thursday totally tuesday tv we wednesday well what when where who why wow yeah
yep yes you your yup
"""
CALENDAR = frozenset(_CALENDAR_TEXT.split())
_PLACE_WORDS_TEXT = """
avenue bay beach bridge canyon city county falls forest island lake mountain mountains park river road square street
town valley
"""
PLACE_WORDS = frozenset(_PLACE_WORDS_TEXT.split())
_GROUP_WORDS_TEXT = """
association church club college company corp foundation hospital inc institute museum school shelter society team
university
"""
GROUP_WORDS = frozenset(_GROUP_WORDS_TEXT.split())
