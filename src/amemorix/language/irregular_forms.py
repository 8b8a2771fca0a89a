"""English words whose inflected forms no stemmer brings together."""

from __future__ import annotations

__all__ = ["BASE_FORMS"]

_FAMILIES = """
arise arose arisen, awake awoke awoken, bear bore borne, beat beaten, become became, begin began begun, bend bent,
bind bound, bite bit bitten, bleed bled, blow blew blown, break broke broken, breed bred, bring brought, build built,
burn burnt, buy bought, catch caught, choose chose chosen, cling clung, come came, creep crept, deal dealt, dig dug,
draw drew drawn, dream dreamt, drink drank drunk, drive drove driven, eat ate eaten, fall fell fallen, feed fed,
feel felt, fight fought, find found, flee fled, fly flew flown, forbid forbade forbidden, forget forgot forgotten,
forgive forgave forgiven, freeze froze frozen, give gave given, go went gone, grow grew grown, hang hung, hear heard,
hide hid hidden, hold held, keep kept, kneel knelt, know knew known, lay laid, lead led, leap leapt, learn learnt,
leave left, lend lent, light lit, lose lost, make made, mean meant, meet met, mistake mistook mistaken, pay paid,
prove proven, ride rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen, seek sought,
sell sold, send sent, sew sewn, shake shook shaken, shine shone, shoot shot, show shown, shrink shrank shrunk,
sing sang sung, sink sank sunk, sit sat, sleep slept, slide slid, speak spoke spoken, spell spelt, spend spent,
spill spilt, spin spun, stand stood, steal stole stolen, stick stuck, sting stung, strike struck, strive strove,
swear swore sworn, sweep swept, swell swollen, swim swam swum, swing swung, take took taken, teach taught,
tear tore torn, tell told, think thought, throw threw thrown, understand understood, undertake undertook,
wake woke woken, wear wore worn, weave wove woven, weep wept, win won, wind wound, withdraw withdrew withdrawn,
write wrote written,
child children, man men, woman women, foot feet, tooth teeth, mouse mice, goose geese, person people, wife wives,
life lives, knife knives, leaf leaves, half halves, shelf shelves, wolf wolves, loaf loaves, thief thieves,
good better best, bad worse worst, mother mum mom mommy mummy, father dad daddy, grandmother grandma granny,
grandfather grandpa granddad, photo pic photograph, bike bicycle, phone telephone, fridge refrigerator,
favourite favorite fave, colour color, theatre theater, centre center, neighbour neighbor, grey gray, jewellery jewelry,
mould mold, programme program, traveller traveler, pyjamas pajamas, organise organize, realise realize,
apologise apologize, recognise recognize, practise practice, licence license, cosy cozy, doughnut donut, aeroplane airplane
"""
"""Irregular verbs and nouns, spellings of either side of the Atlantic, and short forms that everybody uses."""

BASE_FORMS: dict[str, str] = {form: family.split()[0] for family in _FAMILIES.split(",") for form in family.split()[1:]}
"""Form -> the word it is a form of."""
