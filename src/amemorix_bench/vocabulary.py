"""The words and sentence patterns of the synthetic chats."""

from __future__ import annotations

__all__ = ["NAMES", "PATTERNS", "QUESTIONS", "WORDS"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(" ".join(phrase.split()) for phrase in text.split("|"))


NAMES = _words(
    """
    Ada Adam Agnes Aisha Albert Alice Amir Amy Andre Anita Anna Arthur Asha Astrid Ben Bianca Boris Bruno
    Camille Carla Carlos Cecilia Celine Chen Clara Colin Dahlia Daniel Daria David Dennis Diana Dmitri Dora
    Edgar Elena Elias Emil Emma Erik Esther Eva Fatima Felix Fiona Frank Freya Gabriel Gemma George Greta Gustav
    Hana Hanna Hassan Hector Heidi Helena Henry Hugo Ida Igor Ilse Ingrid Ivan Jasmine Jonas Judith Julia Kamal
    Karin Karl Katya Kenji Lars Laura Leila Leo Lidia Lily Louis Lucia Lukas Maria Marco Marta Max Mei Mila
    Milan Mona Nadia Naomi Nina Noah Nora Olaf Olga Omar Oscar Otto Pablo Paula Pavel Petra Quinn Rafael Rana
    Rita Robin Rosa Rupert Ruth Samir Sara Selma Simon Sofia Stefan Susan Tara Theo Tomas Ursula Vera Victor
    Viola Walter Wanda Xenia Yara Yusuf Zelda Zoe
    """
)

WORDS: dict[str, tuple[str, ...]] = {
    "thing": _words(
        """
        book dog garden job guitar dinner trip photo bike house kitchen movie class project recipe song painting
        letter camera cake coffee phone laptop exam meeting concert game team school office river mountain beach
        forest boat train ticket passport suitcase birthday wedding party gift card plant tree flower rose
        tomato soup bread pasta salad pizza curry rice tea wine beer cheese apple lemon chocolate cookie
        breakfast lunch picnic restaurant museum library theatre gallery market shop bakery pharmacy hospital
        doctor dentist nurse teacher neighbour landlord plumber carpenter mechanic lawyer editor actor singer
        dancer swimmer runner climber player coach race marathon match tournament medal trophy ball racket
        skates helmet tent map compass lantern rope knife stove fridge oven kettle lamp sofa chair table shelf
        carpet curtain window door roof fence gate key lock wallet watch ring necklace scarf jacket coat boots
        gloves hat umbrella blanket pillow mirror clock radio piano violin drum flute choir orchestra album
        poster novel poem story diary notebook pencil brush canvas clay vase pot sculpture quilt sweater yarn
        needle thread button engine tyre brake battery cable charger printer screen keyboard website app
        password server budget invoice contract salary rent mortgage loan tax insurance bonus interview resume
        degree thesis lecture seminar homework grade scholarship semester kitten puppy parrot rabbit hamster
        turtle horse goat chicken bee honey orchard vineyard meadow lake island harbour lighthouse bridge castle
        tower temple church square fountain statue parade festival fair circus lottery charity shelter clinic
        vaccine allergy headache fever surgery therapy diet yoga gym treadmill sleep dream nightmare storm snow
        frost fog rainbow sunrise sunset moon comet telescope microscope rocket robot drone satellite antenna
        """
    ),
    "quality": _words(
        """
        good great new old nice small big quiet happy long warm cold strange funny lovely cheap expensive
        difficult easy beautiful terrible wonderful tiny huge fresh sweet bitter salty spicy soft hard bright
        dark noisy calm busy empty broken clean dirty heavy light early late famous local foreign modern ancient
        wooden golden silver purple green yellow orange striped crooked narrow wide steep shallow deep rusty
        shiny fragile sturdy elegant clumsy brave shy patient stubborn generous curious honest lazy clever
        gentle fierce grateful nervous proud jealous lonely tired hungry thirsty sleepy excited disappointed
        relieved
        """
    ),
    "did": _words(
        """
        found bought lost sold fixed broke painted cleaned cooked planned finished started cancelled booked
        visited watched read wrote borrowed returned packed carried washed repaired designed built planted
        picked ordered tasted shared showed described photographed recorded rehearsed practised taught learned
        studied measured sketched knitted sewed carved polished replaced installed tested compared reviewed
        signed posted mailed wrapped opened hid moved
        """
    ),
    "do": _words(
        """
        find buy sell fix paint clean cook plan finish start cancel book visit watch read write borrow return
        pack wash repair design build plant pick order taste share show describe photograph record rehearse
        practise teach learn study measure sketch knit sew carve polish replace install test compare review sign
        post mail wrap open move
        """
    ),
    "who": _phrases(
        """
        my sister| my brother| my mother| my father| my aunt| my uncle| my cousin| my grandmother| my boss| my
        neighbour| a colleague| an old friend| my flatmate| our boss| my niece| my nephew| our trainer| my
        professor| a stranger| the twins
        """
    ),
    "when": _phrases(
        """
        yesterday| last weekend| this morning| on Tuesday| two weeks ago| last month| after work| last summer|
        on my birthday| tonight| last Friday| before the holidays| in March| a few days ago| at the end of June|
        last year| over Easter| today
        """
    ),
    "reply": _phrases(
        """
        Wow!| That sounds great.| Really?| I did not expect that.| Oh no, I am sorry.| Haha, same here.| Thanks
        for telling me.| Good for you!| Tell me more.| I have been thinking about it too.| That makes sense.|
        You must be so pleased.| Take care of yourself.| I remember that.| Same as always with you!| No way.|
        Congratulations!| Hmm, let me think.
        """
    ),
}
"""Words of each slot, roughly from common to rare; they are drawn by Zipf's law."""

PATTERNS = (
    "I {did} a {quality} {thing} {when} and {who} {did} another.",
    "We are going to {do} the {thing} near {place} with {who}.",
    "{reply} The {thing} was {quality}, but the {thing} was {quality} too.",
    "Did you {do} the {thing} that was so {quality}?",
    "{reply} How is your {quality} {thing} doing?",
    "{when} {who} {did} my {thing} at {place}, it was so {quality}.",
    "I would never {do} such a {quality} {thing}.",
    "My {thing} is {quality}, so I {did} one at {place}.",
    "{reply} You should {do} the {thing} at {place}.",
    "{who} {did} the {quality} {thing} for {number} euros.",
    "There were {number} of them at {place} {when}.",
    "{reply} {who} had it in the {thing}, with the {thing}.",
    "What do you {do} with a {thing} like this?",
    "After the {thing} we {did} the {thing}, and then {who} {did} it again.",
    "It was too {quality} for {who}, so we {did} the {quality} {thing}.",
    "Can you {do} it before the {thing} at {place}?",
    "I have {did} my {thing} and my {thing} {when}.",
    "Is {place} more {quality} than {place}?",
    "No, that was the {thing} of {who}, it had a {quality} {thing}.",
    "{reply} Mine was {quality}.",
    "If you {do} it, {who} will {do} the {thing} for us.",
    "{reply}",
)

QUESTIONS = (
    "When did {name} {do} the {quality} {thing}?",
    "What {thing} did {name} like at {place}?",
    "Where was the {quality} {thing} that {name} {did}?",
    "Who {did} the {thing} near {place}?",
    "Why is the {thing} of {name} so {quality}?",
    "How much was the {quality} {thing} at {place}?",
    "{quality} {thing} {place}",
    "Has {name} ever {did} the {thing} with the {thing}?",
)
