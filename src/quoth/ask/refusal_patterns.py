"""The words with which a text refuses to answer, in six languages; `refusal_languages` has more. Pure.

Each pattern is searched in one clause without markers, markup, code and quotations. English distinguishes nouns for
what is read (passages, the book) from plain ones that also name things in a program (the context, a document): those
need a verb of saying. A new wording belongs here and in tests/refusal_corpus.py, with an answer that resembles it.
"""

from __future__ import annotations

import re
from functools import cached_property


class _AnyOf:
    """One pattern of several, compiled when first needed: compiling all takes 50 ms, and only answers need them."""

    def __init__(self, *patterns: str) -> None:
        self._patterns = patterns

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile("|".join(self._patterns), re.IGNORECASE)

    def search(self, text: str) -> re.Match[str] | None:
        return self._compiled.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        return self._compiled.match(text)

    def findall(self, text: str) -> list[str]:
        found: list[str] = self._compiled.findall(text)
        return found


# --- English ---------------------------------------------------------------------------------------------------------

# Nouns for what is read. The plain ones also name things in a program: "the context does not contain a node".
_BOOK = (
    r"(?:books?|passages?|excerpts?|documentation|docs|search\s+results?|authors?|selected\s+(?:text|passage|paragraph|section)|selection"
    r"|(?:provided|given|retrieved|supplied|available)\s+(?:\w+\s+)?"
    r"(?:texts?|contexts?|sources?|information|contents?|materials?|sections?|documents?|articles?|passages?|excerpts?)"
    r"|(?:texts?|contexts?|sources?|information|contents?|materials?|sections?|documents?)\s+"
    r"(?:provided|given|retrieved|supplied|above|available|you\s+selected|i\s+(?:have|was\s+given|can\s+see))"
    r"|book\s+(?:content|text|material)s?)"
)
_PLAIN = (
    r"(?:texts?|contexts?|sources?|articles?|chapters?|sections?|paragraphs?|contents?|materials?"
    r"|documents?|pages?|guide|manual|author)"
)
_ITS = (
    r"(?:the|this|these|that|those|your|my|our|any|any\s+of\s+the|any\s+of\s+these|all|both|other|what|whole|entire"
    r"|relevant|above|following|numbered|current)"
)
_THE_BOOK = rf"(?:{_ITS}\s+)*{_BOOK}"
_THE_TEXT = rf"(?:{_ITS}\s+)+(?:\w+\s+)?{_PLAIN}"
# What can only be what is read: documentation is also something that a program builds.
_PASSAGES = (
    rf"(?:{_ITS}\s+)*(?:books?|passages?|excerpts?|search\s+results?"
    r"|selected\s+(?:text|passage|paragraph)|(?:provided|given|retrieved)\s+(?:texts?|contexts?|sections?))"
)
# Only empty words may come between the noun and its verb: "the passages of the book that I was given simply".
_STILL = (
    r"(?:\s+(?:(?:of|in|from)\s+(?:the|this|your)\s+\w+|that\s+(?:i|you|we|were|was|are"
    r"|is)\s+\w+(?:\s+\w+)?|i\s+(?:have|was\s+given|found)"
    r"|you\s+\w+|(?:that\s+)?i\s+have\s+access\s+to|at\s+hand|shown|provided|given|above|here|themselves|itself|alone|simply|just|also|unfortunately"
    r"|actually|currently|however"
    r"|sadly|explicitly|specifically|directly|as\s+(?:given|provided)|do(?:es)?))*[\s,]+"
)
_NOT = (
    r"(?:(?:do(?:es)?|did|would|will|could|can|has|have)(?:\s+not|n't)(?:\s+(?:seem|appear)\s+to)?"
    r"|cannot|never|fails?\s+to|nowhere"
    r"|neither)(?:\s+(?:actually|really|explicitly|directly|specifically|clearly|ever|yet|even"
    r"|in\s+fact|seem\s+to|appear\s+to|to))*"
)
_SAY = (
    r"(?:say|state|mention|cover|specify|discuss|address|explain|describe|tell|answer|indicate|talk"
    r"|touch|go\s+into|elaborate"
    r"|reveal|clarify|document|detail|name|refer|make\s+(?:any\s+)?mention|disclose|define|compare|list|note|report"
    r"|bring|get\s+into|deal\s+with)"
    r"(?:ed)?"
)
_HOLD = r"(?:contain|include|provide|give|hold|have|offer|supply|present|show|cite|quote|detail)(?:ed)?"
_INFORMATION = (
    r"(?:information|details?|answers?|mentions?|explanations?|references?|instructions?|description"
    r"|data|facts?|guidance"
    r"|anything|definition|comparison|evidence|context|discussion|indications?|hints?|examples?)"
)
_ABOUT = (
    r"(?:\s*[.!]?\Z|\s+(?:about|on|of|regarding|concerning|for|in|that|which|to|as|here|with|related"
    r"|relating|beyond|other|provided|available|specific|at\s+all|how|what|why|when|where|whether)\b)"
)
_MUCH = (
    r"(?:\s+(?:any|enough|sufficient|the|an?|specific|direct|explicit|further|more|much|such|that|this"
    r"|relevant|clear|complete|full|\w+ing))*"
)

SPEAKER = _AnyOf(
    r"\b(?:i|we)\s+(?:do\s+not|don't|did\s+not|didn't|can\s*not|can't|could\s+not|couldn't"
    r"|am\s+not\s+able\s+to|was\s+not\s+able\s+to"
    r"|wasn't\s+able\s+to|'m\s+not\s+able\s+to|am\s+unable\s+to|was\s+unable\s+to|are\s+unable\s+to"
    r"|were\s+unable\s+to|have\s+not"
    r"|haven't|am\s+not|see\s+no|have\s+no|had\s+no|found\s+no|find\s+no|find\s+nothing"
    r"|found\s+nothing|know\s+nothing|see\s+nothing)"
    r"(?:\s+(?:able|been|to|yet|actually|currently|really|seem|reliably|fully|confidently))*\s+(?:\w+\s+){0,3}?"
    r"(?:know|answer|find|found|determine|tell|say|see|locate|provide|give|help|offer|confirm|comment"
    r"|information|mention|details?|"
    r"have|anything|explain|sure|certain|aware|infer|conclude|derive|identify|access"
    r"|work\s+(?:that|this|it)\s+out|nothing)\b(?!\s+that\s+an?\b)",
    r"\bi'm\s+(?:unable|not\s+able|afraid\s+(?:i|the|that|this|there)|not\s+(?:sure|certain|aware))\b",
    r"\b(?:i'm|i\s+am)\s+(?:sorry|afraid),?\s+(?:but\s+)?(?:i|that|this|it|the|there|no)\b.*\b(?:not"
    r"|no|n't|cannot|unable)\b",
    r"\b(?:am|is|was|are)\s+not\s+able\s+to\s+(?:find|answer|determine|locate)\b",
    r"\b(?:i|we)\b.*\b(?:came|come)\s+(?:up\s+(?:empty|with\s+nothing)|across\s+nothing)\b",
    r"\A\W*(?:sorry\W+)?can(?:not|\s+not)\s+help\b",
    r"\bnot\s+something\s+(?:that\s+)?(?:i|we)\s+can\s+(?:answer|say|tell|find|confirm|determine)\b",
    r"\bnothing\s+(?:that\s+)?i\s+(?:was|am|have|had|can|could)\b",
    r"\b(?:i\s+am|i'm)\s+not\s+(?:finding|seeing)\b|\bi\s+lack\s+(?:the\s+|any\s+)?(?:information|details?|context)\b",
    r"\bno\s+(?:\w+\s+)?(?:answer|conclusion)\s+can\s+be\s+(?:drawn|given|found)\b",
    r"\bwe\s+are\s+(?:not|never)\s+told\b",
    r"\A\W*unable\s+to\s+(?:find|answer|determine|locate|tell|say)\b",
    r"\bit\s+is\s+not\s+possible\s+(?:for\s+me\s+)?to\s+(?:answer|say|tell|determine)\b",
    r"\b(?:cannot|can't|could\s+not|couldn't)\s+be\s+(?:answered|determined|inferred|derived"
    r"|established|found|concluded)\b"
    rf"(?=.*\b(?:{_BOOK}|{_PLAIN}|information)\b)",
)
NOT_SAID = _AnyOf(
    rf"\b{_THE_BOOK}{_STILL}{_NOT}\s+(?:\w+ly\s+)?(?:{_SAY}|{_HOLD})s?\b",
    rf"\b{_THE_BOOK}[\s,]+(?:and|but)\s+(?:it|they)\s+{_NOT}\s+(?:\w+ly\s+)?(?:{_SAY}|{_HOLD})\b",
    rf"\b(?:missing|absent)\s+(?:from|in)\s+{_THE_BOOK}\b",
    rf"\b{_THE_TEXT}{_STILL}{_NOT}\s+(?:\w+ly\s+)?{_SAY}\b",
    rf"\b{_THE_TEXT}{_STILL}{_NOT}\s+(?:\w+ly\s+)?{_HOLD}{_MUCH}\s+(?!references?\b){_INFORMATION}{_ABOUT}",
    rf"\b(?:{_THE_BOOK}|{_THE_TEXT}){_STILL}(?:says?|said|mentions?|tells?|contains?|offers?|gives?"
    rf"|provides?|holds?|ha(?:s|ve))\s+nothing\b",
    rf"\b(?:{_THE_BOOK}|{_THE_TEXT}){_STILL}(?:makes?|contains?|gives?|provides?|offers?|ha(?:s|ve)"
    rf"|includes?|holds?)\s+(?:no|not\s+any)\s+"
    rf"(?:\w+\s+)?{_INFORMATION}{_ABOUT}",
    rf"\b(?:{_THE_BOOK}|{_THE_TEXT}){_STILL}(?:(?:is|are|remains?|stays?|keeps?)\s+silent\b|lacks?\s+(?:\w+\s+)*{_INFORMATION})",
    rf"\b(?:none|neither|not\s+one)\s+of\s+{_THE_BOOK}\b",
    rf"\b(?:none|neither|not\s+one)\s+of\s+{_THE_TEXT}\s+(?:\w+ly\s+)?(?:{_SAY}|{_HOLD})s?\b",
    rf"\b(?:no|neither)\s+{_BOOK}\s+(?:\w+ly\s+)?(?:{_SAY}|{_HOLD})(?:e?s)?\b",
    rf"\b(?:nothing|nowhere)\s+(?:\w+\s+)*?(?:in|within)\s+{_THE_BOOK}\b",
    rf"\bnowhere\s+(?:in|does)\s+(?:{_THE_BOOK}|{_THE_TEXT})\b",
    # The other way round: it is not said in the book.
    r"\b(?:is|are|was|were|be|been)\s+(?:\w+ly\s+)?(?:not|never)(?:\s+(?:\w+ly|being|been))*\s+"
    r"(?:mentioned|covered|described|discussed|specified|stated|explained|given|provided|addressed"
    r"|included|documented|found|answered|listed"
    r"|defined|available|present|contained|named|detailed|said|in|part\s+of|within|anywhere|anything)\b"
    rf"(?:\s+anywhere)?(?:\s+(?:in|by|within|from|of))?\s+{_THE_BOOK}\b",
    rf"(?:\bnot|n't)\s+(?:\w+\s+)?(?:something|anything|a\s+(?:topic|subject|question))\s+(?:that\s+)?{_THE_BOOK}\b",
    rf"\b(?:outside|beyond)\s+(?:of\s+)?what\s+{_THE_BOOK}\b",
    rf"\b(?:falls?|lies?|goes|is)\s+outside\s+(?:of\s+)?(?:{_THE_BOOK}|{_THE_TEXT})\W*\Z",
    rf"\bnot\s+(?:answered|mentioned|covered|explained|addressed)\s+(?:by\s+)?(?:anything|anywhere)\s+in\s+{_THE_TEXT}\b",
    rf"\b(?:outside|beyond)\s+(?:of\s+)?(?:the\s+)?(?:scope|coverage|contents?"
    rf"|subject)\s+of\s+(?:{_THE_BOOK}|{_THE_TEXT}|what)\b",
    rf"\b(?:unclear|not\s+clear|not\s+possible|impossible|not\s+evident|not\s+known)\b.*\b(?:from|in"
    rf"|with|by|based\s+on)\s+{_THE_BOOK}\b",
    rf"\b(?:{_THE_BOOK}|{_THE_TEXT})\s+(?:leaves?|left)\s+\w+(?:\s+\w+)?\s+open\b",
    rf"\b(?:(?:do(?:es)?|did)\s+not|never)\s+(?:appear|occur|show\s+up|come\s+up|exist|figure)(?:s|ed)?"
    rf"\s+(?:anywhere\s+)?(?:in|within)\s+{_THE_BOOK}\b",
    rf"\b(?:{_THE_BOOK}|{_THE_TEXT}){_STILL}(?:(?:is|are)\s+(?:insufficient|not\s+(?:enough|sufficient))|{_NOT}\s+suffice)\b",
    rf"\b{_PASSAGES}{_STILL}(?:give|provide|offer|contain|include|have|ha|name|quote|mention|list|show|state|make)s?"
    r"\s+no\b(?!\s+(?:longer|more|fewer|less)\b)",
    rf"\b{_PASSAGES}{_STILL}(?:stops?\s+short\s+of|(?:is|are)\s+of\s+no\s+(?:help|use)|do(?:es)?\s+not\s+help)\b",
    rf"\b{_PASSAGES}\b.*\b(?:remains?|stays?)\s+(?:unknown|unclear|open|unsaid|unanswered)\b",
    rf"\byou\s+will\s+(?:not|never)\s+find\b.*\bin\s+{_THE_BOOK}\b",
)
NOTHING_THERE = _AnyOf(
    rf"\b(?:there\s+(?:is|are|was|were)|there's|there\s+(?:is|are)n't|there\s+isn't)\s+(?:no|not\s+any"
    rf"|not\s+enough|any|nothing|insufficient|not\s+sufficient)"
    rf"(?:\s+\w+){{0,2}}?\s*{_INFORMATION}{_ABOUT}",
    r"\b(?:there\s+(?:is|was)|there's)\s+nothing\s+(?:(?:here|there|at\s+all)\s+)?(?:about|regarding|concerning)\b",
    r"\A\W*(?:sorry\W+)?no\s+(?:\w+\s+)?(?:information|mention|details?|answer|relevant\s+passages?)"
    r"(?:\s*[.!]?\Z|\s+of\s+(?:that|this|it)\b|.*\b(?:found|available|provided|given|present|mentioned|book|passages?|excerpts?)\b)",
    r"\b(?:not\s+enough|insufficient|too\s+little)\s+(?:information|context|details?|evidence)\s+(?:to"
    r"|in|for|is|was)\b",
)
OF_THE_BOOK = _AnyOf(
    rf"\A\W*(?:\w+\s+)?(?:{_THE_BOOK}|{_THE_TEXT})\b",
    rf"\A\W*(?:i|we)\s+(?:\w+\s+)+?{_BOOK}\b",
)
# Right after a clause about the book, "they" is what is read, and "there" is in it.
THEY_DO_NOT = _AnyOf(
    rf"\A\W*(?:but\s+|however,?\s+)?(?:they|it|none)\s+{_NOT}\s+(?:\w+ly\s+)?(?:{_SAY}|{_HOLD})\b",
    rf"\bnone\s+of\s+(?:them|these|those)\s+(?:\w+ly\s+)?(?:{_SAY}|{_HOLD})(?:e?s)?\b",
    r"\bnot\s+(?:something|anything)\s+(?:that\s+)?(?:they|it)\s+(?:\w+\s+){0,2}\w+\W*\Z",
    r"\b(?:is|are)\s+(?:not\s+(?:in|among|part\s+of)\s+(?:there|here|it|them)|nowhere\s+to\s+be\s+found)\W*\Z",
)
# Only of a sentence that cites nothing: with a source, the same words tell what the book says.
UNCITED = _AnyOf(
    r"\A\W*(?:but\s+|and\s+|however,?\s+)?(?:whether|how|what|why|when|where|which|who|if)\b.*\b(?:is|are)\s+not\s+(?:\w+ly\s+)?"
    r"(?:covered|described|explained|specified|documented|detailed|said|given|stated|mentioned|clear)\W*\Z",
    r"\bno\s+way\s+(?:for\s+me\s+)?(?:to|of)\s+(?:know|tell|say|answer|determin)\w*\W*\Z",
)
IN_SOMETHING = _AnyOf(r"\b(?:in|on|from|within|for)\s+(?:the|this|that|its|your|an?)\s+((?:[\w'-]+\s+){0,2}[\w'-]+)")
NAMED_BOOK = _AnyOf(rf"\b(?:{_BOOK}|{_PLAIN}|information|material|question)\b")
BARE = _AnyOf(
    r"\A\W*(?:n/?a|unknown|nothing\s+(?:about|on)\s+(?:that|this|it)(?:,?\s+sorry)?|not\s+(?:found|mentioned|covered|stated|specified|available"
    r"|known)(?:\s+in\s+[\w\s]+)?|no\s+answer|not\s+in\s+[\w\s]+"
    r"|sorry,?\s+no|i\s+(?:really\s+)?(?:don't|do\s+not)\s+know(?:\s+that|\s+this)?|no\s+idea"
    r"|(?!.*\b(?:if|when|unless|because|so|says?\s+that)\b)[^,]*\b(?:is|are|was|were)\s+not\s+(?:\w+ly\s+)?"
    r"(?:stated|mentioned|disclosed|discussed|addressed)(?:\s+(?:here|anywhere|there))?"
    r"|keine\s+angaben?|inconnu|desconocido|不知道|未知)\W*\Z"
)

# --- other languages -------------------------------------------------------------------------------------------------

_GERMAN_BOOK = (
    r"(?:buch(?:es|s)?|passagen?|textstellen?|text(?:es|s|e|en)?|textpassagen?|abschnitte?n?"
    r"|ausz[üu]ge?n?|quellen?|dokumentation|auswahl|textauszug"
    r"|unterlagen|informationen|kontext)"
)
_GERMAN = _AnyOf(
    r"\b(?:ich|wir)\b(?!.*\bdass\b).*\b(?:kein\w*|nicht|nichts)\b.*\b(?:information\w*|angabe\w*"
    r"|antwort\w*|finden|gefunden|beantworten|sagen|hinweis\w*)\b",
    r"\b(?:dazu|darüber|hierzu|davon)\s+(?:kann|habe|finde|konnte|weiß|liegen)\s+(?:ich"
    r"|mir)\b.*\b(?:kein\w*|nicht|nichts)\b",
    r"\b(?:kann|konnte|habe|finde|fand|weiß)\s+(?:ich|wir)\b(?!.*\bdass\b).*\b(?:kein\w*|nicht|nichts)\b",
    r"\bich\s+weiß\s+(?:es|das|dazu)?\s*(?:leider\s+)?nicht\b",
    rf"\b(?:das|die|der|den|dem|diese[rsmn]?|im|in)\s+(?:\w+\s+){{0,2}}{_GERMAN_BOOK}(?:\s+(?:des|der"
    rf"|aus|im)\s+\w+)?\s+"
    r"(?:enth(?:ält|alten)|nenn(?:t|en)|erwähn(?:t|en)|sag(?:t|en)|behandel(?:t|n)|gib(?:t)|geben"
    r"|beschreib(?:t|en)|geh(?:t|en)|mach(?:t|en)"
    r"|liefer(?:t|n)|biet(?:et|en)|beantworte(?:t|n)|erklär(?:t|en)|steh(?:t|en)|find(?:et|en))"
    r"\b(?!.*\bdass\b)[^,]*\b(?:kein\w*|nicht|nichts)\b",
    r"\b(?:wie|ob|was|wann|warum|wo|wer|welche\w*)\b.*\b(?:steht|ist|wird)\s+(?:dort|hier|da|darin)\s+nicht"
    r"(?:\s+(?:beschrieben|erklärt|erwähnt|gesagt))?\W*\Z",
    rf"\b(?:kein\w*|nicht|nichts)\b[^,]*\b(?:im|in|aus)\s+(?:dem|den|diesem|diesen|der"
    rf"|dieser)?\s*(?:\w+\s+)?{_GERMAN_BOOK}\b"
    r"(?=.*\b(?:erwähnt|behandelt|beschrieben|genannt|hervor|enthalten|steht|stehen|gefunden"
    r"|zu\s+finden|beantwortet|erklärt|angegeben)\b|\W*\Z)",
    rf"\b(?:im|in|aus)\s+(?:dem|den|diesem|diesen|der"
    rf"|dieser)?\s*(?:\w+\s+)?{_GERMAN_BOOK}\b[^,]*\b(?:kein\w*|nicht|nichts)\b[^,]*"
    r"\b(?:erwähnt|behandelt|beschrieben|genannt|hervor|enthalten|gefunden|zu\s+finden|beantwortet"
    r"|erklärt|angegeben|gesagt)\b",
    rf"\b(?:steht|stehen|wird|ist)\b[^,]*\b(?:nicht|nichts)\b[^,]*\b(?:im|in)\s+(?:dem|den|der"
    rf"|diesem)?\s*(?:\w+\s+)?{_GERMAN_BOOK}\b",
    r"\b(?:frage|das|dies)\b.*\b(?:lässt|kann|lassen|können)\b[^,]*\bnicht\s+(?:beantwort\w+|sagen|bestimmen|ermitteln)\b",
    rf"\b(?:nenn(?:t|en)|erwähn(?:t|en)|sag(?:t|en)|beschreib(?:t|en)|gib(?:t)|geben)\s+(?:das|die|der|dieses)\s+"
    rf"{_GERMAN_BOOK}\s+(?:\w+\s+)?(?:nicht|nichts|nirgends)\b",
    r"\A\W*(?:leider\s+)?keine\s+(?:information|angabe|antwort)\w*\b",
)
_FRENCH_BOOK = (
    r"(?:livre|ouvrage|passages?|extraits?|textes?|documentation|documents?|sources?|sélection|contexte|informations?)"
)
_FRENCH_NOT = r"(?:pas|rien|aucune?|ni|nullement)"
_FRENCH = _AnyOf(
    rf"\b(?:je|nous)\s+(?:ne\s+|n')(?:\w+\s+){{1,3}}?{_FRENCH_NOT}\b",
    r"\bje\s+suis\s+(?:dans\s+l'incapacité|incapable)\b",
    rf"\b(?:le|la|les|l'|ce|cet|cette|ces|l)\s*(?:\w+\s+){{0,1}}{_FRENCH_BOOK}(?:\s+(?:du|de\s+la"
    rf"|de\s+l'|des|fournie?s?|sélectionnée?s?|donnée?s?|cité?s|ci-dessus)(?:\s*\w+)?)*"
    rf"\s+(?:ne\s+|n')(?:\w+\s+){{1,3}}?{_FRENCH_NOT}\b",
    rf"\b(?:n'est|ne\s+sont|n'a|n'ont|n'y\s+a|ne\s+figure|n'apparaît)\b.*\b{_FRENCH_NOT}\b.*\b(?:dans"
    rf"|par)\s+(?:le|la|les|l'|ce|cet|cette|ces)\s*(?:\w+\s+)?{_FRENCH_BOOK}\b",
    r"\b(?:n'est|ne\s+sont|n'a|n'ont)\s+(?:pas|jamais)\s+(?:été\s+)?(?:mentionnée?s?|précisée?s?|indiquée?s?|spécifiée?s?"
    r"|abordée?s?|expliquée?s?)\W*\Z",
    r"\baucune?\s+(?:information|mention|réponse|indication)\b",
    rf"\baucun\s+(?:des\s+)?{_FRENCH_BOOK}\s+n(?:e\s|')",
)
_SPANISH_BOOK = (
    r"(?:libro|pasajes?|fragmentos?|textos?|documentación|documentos?|fuentes?|selección|contexto"
    r"|extractos?|sección|secciones|información)"
)
_SPANISH = _AnyOf(
    r"\bno\s+(?:tengo|encuentro|encontré|dispongo|puedo|sé|he\s+(?:encontrado|podido)|pude|logro|conozco|cuento)\b",
    r"\bno\s+(?:hay|existe|se\s+encuentra)\s+(?:\w+\s+)?(?:información|mención|respuesta|datos"
    r"|detalles|referencias?)\b",
    rf"\b(?:el|la|los|las|este|estos|esta|estas|del)\s+{_SPANISH_BOOK}(?:\s+(?:del\s+libro|de\s+\w+"
    rf"|proporcionad[oa]s?|seleccionad[oa]s?|dad[oa]s?|citad[oa]s?|disponibles?))*"
    r"\s+(?:\w+mente\s+)?(?:no|tampoco|nunca)\s+(?:\w+\s+)?(?:mencion|dice|contien|incluy|proporcion"
    r"|habla|explic|especific|cubr|trat|indic|ofrec|dan?\b|abord|respond|describ|detall|señal"
    r"|brind)\w*",
    rf"\b(?:no|tampoco)\s+(?:se|está|están|aparece|figura|viene)\b(?:\s+\w+){{0,4}}?\s+en\s+(?:el|la"
    rf"|los|las|este|estos|esta)\s+{_SPANISH_BOOK}\b",
    rf"\bning[úu]n[oa]?\s+(?:de\s+l[oa]s\s+)?{_SPANISH_BOOK}\s+\w+",
)
_URDU_BOOK = r"(?:کتاب|متن|اقتباسات|اقتباس|حصوں|حصے|مواد|پیراگراف|عبارت|عبارات|حوالوں|دستاویز)"
_URDU = _AnyOf(
    rf"{_URDU_BOOK}.*(?:ذکر|معلومات|جواب|وضاحت|تفصیل|بیان|موجود|شامل|بتایا|بتاتی|بتاتے|کہا|کہتی|کہتے"
    rf"|لکھا|درج).*(?:نہیں|نہ\s)",
    rf"{_URDU_BOOK}.*نہیں\s+(?:بتایا|کہا|لکھا|دیا|ملتا|ملتی)",
    r"(?:معلومات|جواب|تفصیل).*(?:موجود|دستیاب|ملی|ملا|مل\s+سک\w*)\s*نہیں",
    r"(?:معلومات|جواب|تفصیل).*نہیں\s+(?:ہے|ہیں|ملی|ملا|ملیں|مل|دے|ڈھونڈ)",
    rf"{_URDU_BOOK}.*خاموش\s+(?:ہے|ہیں)",
    r"(?:مجھے|میں|میرے\s+پاس).*(?:معلومات|جواب|علم|معلوم|پتہ|نہیں\s+مل).*نہیں|(?:مجھے|میرے\s+پاس"
    r"|میں).*نہیں.*(?:معلومات|جواب|سکتا|سکتی|ملا|ملی|معلوم)",
)
_CHINESE_BOOK = (
    r"(?:书|書|文本|文字|文章|段落|文中|内容|內容|材料|资料|資料|原文|上下文|选段|選段"
    r"|文档|文檔|章节|章節|片段|信息|資訊)"
)
_CHINESE_NOT = r"(?:没有|沒有|并未|並未|未曾|未|不|并没|並沒|无|無|没|沒)"
_CHINESE_SAY = (
    r"(?:提到|提及|说明|說明|包含|涉及|介绍|介紹|给出|給出|讨论|討論|回答|描述|解释|解釋|关于|關於"
    r"|找到|记载|記載|提供|说|說|相关|相關|写|寫|涵盖|涵蓋|指出|任何|具体|具體|提)"
)
_CHINESE = _AnyOf(
    rf"{_CHINESE_BOOK}[^,，。;；]{{0,8}}?{_CHINESE_NOT}(?:有|明确|明確|具体|具體|直接|详细|詳細)?{_CHINESE_SAY}",
    r"(?:我|我们|我們)?(?:没有|沒有|未能|无法|無法|找不到|不知道|不清楚|不能|没能)[^,，。;；]{0,14}"
    r"(?:信息|資訊|訊息|答案|找到|回答|确定|確定|相关|相關|判断|判斷)",
    rf"(?:没有|沒有|未)(?:在)[^,，。;；]{{0,12}}{_CHINESE_BOOK}[^,，。;；]{{0,4}}(?:找到|提到|提及|看到|发现|發現)",
    r"(?:无法|無法|不能)(?:从|從|根据|根據)[^,，。;；]{0,16}(?:得知|回答|确定|確定|判断|判斷|知道)",
    r"我(?:不知道|不清楚|不太清楚)",
)
ELSEWHERE = (_GERMAN, _FRENCH, _SPANISH, _URDU, _CHINESE)

# --- words that neither refuse nor answer ----------------------------------------------------------------------------

POLITE = _AnyOf(
    r"\A\W*(?:(?:i'm|i\s+am|we're)\s+(?:very\s+|so\s+)?(?:sorry|afraid)|sorry|my\s+apologies"
    r"|i\s+apologi[sz]e|apologies|unfortunately|thank\s+you|thanks)"
    r"(?:\s+(?:for|about)\s+[^.]*|\s+but)?\W*\Z",
    r"\A\W*i\s+wish\s+i\s+could\b",
    r"\A\W*(?:i|we)\s+(?:have\s+)?(?:gone|looked|searched|read|checked|been)\s+(?:all\s+)?(?:through|in|over)\b[^,]*\Z",
    r"\A\W*i\s+(?:would|could)\s+(?:only|just)\s+be\s+guessing\b",
    r"\A\W*(?:no|well|hmm+|ok(?:ay)?|so|no\s+luck|(?:that(?:'s|\s+is)\s+)?(?:an?\s+)?(?:great|good|interesting)\s+question)\W*\Z",
    r"\b(?:let\s+me\s+know|feel\s+free|hope\s+(?:this|that)\s+helps|please\s+(?:let|provide|ask|try"
    r"|consult|check|see|refer|rephrase|share)"
    r"|would\s+you\s+like|happy\s+to\s+help|glad\s+to\s+help|try\s+(?:rephrasing|asking|another"
    r"|a\s+different|searching))\b",
    r"\A\W*(?:(?:so|therefore|perhaps|instead|however),?\s+)?(?:you\s+(?:may|might|could|should|can"
    r"|would)|i(?:'d|\s+would)?\s+(?:suggest|recommend)"
    r"|it\s+(?:may|might)\s+be\s+(?:best|worth|helpful)|consider|check|consult|see|refer|visit|look|if\s+you)\b.*"
    r"\b(?:official|documentation|website|site|manufacturer|vendor|resources?|elsewhere"
    r"|other\s+(?:books?|sources?)|another\s+(?:book|source)|search"
    r"|ask|provide|share|rephras\w+|more\s+(?:context|details?|information)|other\s+part|rest\s+of|help)\b",
    rf"\b(?:{_THE_BOOK}|{_THE_TEXT}|they|it|these|those){_STILL}(?:instead\s+|mainly\s+|mostly\s+"
    rf"|primarily\s+|rather\s+|still\s+)*(?:only\s+|do(?:es)?\s+)?"
    r"(?:only\s+|instead\s+|mainly\s+)?(?:discuss|cover|talk\s+about|focus|deal\s+with|(?:is"
    r"|are)\s+(?:only\s+|mainly\s+)?about|concern|address|touch\s+on|mention|describe|contain"
    r"|provide\s+information|explain|refer)(?:e?s)?\s+(?!that\b|how\b|why\b|when\b|whether\b)",
    r"\A\W*(?:entschuldigung|es\s+tut\s+mir\s+leid|tut\s+mir\s+leid|leider|désolée?"
    r"|je\s+suis\s+désolée?|malheureusement|lo\s+siento|lamentablemente|desafortunadamente"
    r"|perdón|معذرت(?:\s+خواہ\s+ہوں)?|معاف\s+کیجیے|افسوس|抱歉|对不起|對不起|很遗憾|很遺憾|很抱歉)\W*\Z",
    r"\b(?:bitte|veuillez|n'hésitez|por\s+favor)\b|براہ\s*(?:کرم|مہربانی)|请(?:提供|查阅|参考|咨询|换|尝试)|請(?:提供|查閱|參考)",
)

NOUNS = _AnyOf(
    rf"\b(?:{_BOOK}|{_PLAIN}|{_GERMAN_BOOK}|{_FRENCH_BOOK}|{_SPANISH_BOOK}|information|question|frage|answer|ai)\b",
    r"\b(?:provided|given|retrieved|selected|what\s+i\s+(?:was|have)|not|niet|nicht|isn't|unclear|absent|missing|outside|beyond)\b",
)
