"""Words for generated examples: opposites, months, question words, small words. Data only.

Opposites are listed by hand: neighbours in a vector space mix them with synonyms, and a synonym would leave a question
answerable.
"""
# ruff: noqa: SIM905 - lists of quoted words would be harder to read

from __future__ import annotations

_OPPOSITES = """
first/last largest/smallest biggest/smallest highest/lowest longest/shortest oldest/newest oldest/youngest
earliest/latest most/least best/worst majority/minority maximum/minimum upper/lower high/low long/short old/new
early/late big/small large/small strong/weak fast/slow hot/cold warm/cool wide/narrow deep/shallow heavy/light
rich/poor easy/difficult simple/complex public/private internal/external domestic/foreign local/global urban/rural
male/female boys/girls men/women man/woman boy/girl father/mother brother/sister son/daughter husband/wife king/queen
northern/southern eastern/western north/south east/west left/right top/bottom front/back inside/outside above/below
before/after begin/end began/ended start/stop started/stopped open/close opened/closed increase/decrease
increased/decreased increasing/decreasing rise/fall rose/fell gain/lose gained/lost win/lose won/lost buy/sell
bought/sold import/export accept/reject accepted/rejected allow/forbid allowed/forbidden allows/prevents
support/oppose supported/opposed join/leave joined/left arrive/depart arrived/departed enter/exit entered/exited
add/remove added/removed adding/removing enable/disable enabled/disabled enabling/disabling install/uninstall
create/delete created/deleted creating/deleting include/exclude included/excluded includes/excludes
attack/defend attacked/defended succeed/fail succeeded/failed success/failure advantage/disadvantage
advantages/disadvantages benefit/drawback benefits/drawbacks positive/negative legal/illegal popular/unpopular
common/rare likely/unlikely possible/impossible necessary/unnecessary required/optional mandatory/optional
static/dynamic synchronous/asynchronous default/custom input/output client/server read/write push/pull upload/download
send/receive sent/received encode/decode encrypt/decrypt lock/unlock show/hide visible/hidden expand/collapse
mutable/immutable manual/automatic manually/automatically temporary/permanent partial/complete absolute/relative
horizontal/vertical ascending/descending parent/child ancestor/descendant minimum/maximum more/fewer more/less
better/worse higher/lower larger/smaller longer/shorter older/younger older/newer earlier/later greater/smaller
faster/slower cheaper/costlier stronger/weaker always/never often/rarely usually/seldom many/few all/none
friend/enemy friends/enemies ally/opponent allies/opponents victory/defeat birth/death born/killed die/live
died/lived alive/dead peace/war love/hate loved/hated liked/disliked like/dislike agree/disagree agreed/disagreed
build/destroy built/destroyed construct/demolish constructed/demolished produce/consume produced/consumed
hire/dismiss hired/fired promoted/demoted approve/deny approved/denied permit/prohibit permitted/prohibited
direct/indirect active/passive natural/artificial physical/mental ancient/modern past/future winter/summer
day/night morning/evening sunrise/sunset land/sea solid/liquid acid/base cause/prevent causes/prevents
caused/prevented attract/repel raise/lower raised/lowered expanded/reduced expand/reduce unite/divide united/divided
employer/employee teacher/student buyer/seller lender/borrower author/reader doctor/patient landlord/tenant
""".split()

MONTHS = tuple("January February March April May June July August September October November December".split())
DAYS = tuple("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split())
ORDINALS = tuple("first second third fourth fifth sixth seventh eighth ninth tenth".split())
NUMBER_WORDS = tuple(
    "two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty".split()
)
COLOURS = tuple("red blue green yellow white black orange purple brown grey gold silver".split())
# Words that come in groups: one is swapped for another of its group.
KINDS = (tuple(MONTHS), DAYS, ORDINALS, NUMBER_WORDS, COLOURS)

QUESTION_WORDS = frozenset("what which who whom whose when where why how".split())
SMALL_WORDS = frozenset(
    """a about after all also am an and any are as at be because been before being between both but by can could did do
    does doing during each for from further had has have having he her here hers him his how i if in into is it its
    itself just may me might more most must my no nor not now of off on once only or other our out over own same shall
    she should so some such than that the their them then there these they this those through to too under until up
    upon us very was we were what when where which while who whom whose why will with within without would you your
    many much did name named called kind type sort one ones get got use used using make made way does""".split()
)
CAUSES = ("because", "due to", "since", "reason", "caused", "result", "in order to", "so that", "therefore", "so as")
TIMES = (
    "century decade year month week day today yesterday tomorrow ago during when after before spring summer autumn "
    "winter morning evening night recently now late early time until since age"
).split()


def _both_ways() -> dict[str, tuple[str, ...]]:
    pairs: dict[str, list[str]] = {}
    for pair in _OPPOSITES:
        one, other = pair.split("/")
        pairs.setdefault(one, []).append(other)
        pairs.setdefault(other, []).append(one)
    return {word: tuple(dict.fromkeys(others)) for word, others in pairs.items()}


OPPOSITES = _both_ways()
