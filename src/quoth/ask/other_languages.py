"""Follow-ups that are not English: "und für Parameter?", "¿por qué?", "它的默认值是什么？". Pure, by table.

In: a question. Out: what in it points back to the conversation, and its own words, those that mean something common in
English. A book's index knows the words of the book's language only, so *warum* finds nothing in an English book; what
the conversation is about does. As in `references`, a sign is needed: a beginning with *and*, a word that points back,
or nothing but words that ask. A question with content of its own is left alone. A new language is a row here.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import cached_property

from quoth.ask.references import LONGEST_FOLLOW_UP
from quoth.text.accents import without_accents
from quoth.text.terms import names_something, term_ids

_MOST_OWN = 3  # words of its own, besides those that point back: with more, it says what it is about


@dataclass(frozen=True)
class _Language:
    """Words without accents. `means`: what is worth searching for in English; `opening` and `back` are patterns."""

    small: str
    opening: str
    back: str
    how: str
    means: Mapping[str, str]
    spaced: bool = True  # written with spaces between words

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.small.split())

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
        said = "|".join(sorted(self.means, key=len, reverse=True))
        edge = (r"(?<!\w)", r"(?!\w)") if self.spaced else ("", "")
        pieces = "" if self.spaced else "|" + "|".join(sorted(self.words, key=len, reverse=True))
        return (
            re.compile(rf"[\W_]*(?:{self.opening})", re.IGNORECASE),
            re.compile(rf"{edge[0]}(?:{self.back}){edge[1]}"),
            re.compile(rf"{edge[0]}(?:(?P<means>{said}){pieces}){edge[1]}", re.IGNORECASE),
        )

    def english(self, word: str) -> str:
        return next(english for said, english in self.means.items() if re.fullmatch(said, word, re.IGNORECASE))


_LANGUAGES = (
    _Language(  # German; a pronoun *das* ends the question or is before its last word, which is a verb
        small="""
        der die das dem den des ein eine einen einem einer eines und oder aber auch ist sind war wie was wo wann
        wer wen welche welcher welches nicht noch nur kann kannst konnen konnte muss soll sollte darf ich man wir
        du mir mich uns dir sie es mit von vom fur uber zum zur zu auf in im am an aus bei nach als so denn dann
        doch mal bitte wird werden gibt hat haben habe bin mache machen macht tun tue geht gehen funktioniert
        bedeutet bedeuten heisst heissen passiert wenn ob dass genau genauer mehr gib gebe zeig zeige erklar
        erklare sag sage nenn nenne das dazu wofur wozu brauche brauchen braucht nochmal weiter anders
        """,
        opening=r"(?:und|aber|oder|wie\s+sieht\s+es|was\s+ist\s+mit)\b",
        back=r"[Dd]as(?=\s+[a-z]+\W*\Z|\W*\Z)|[Dd]ies(?:e[rsnm]?)?|es|da(?:fur|mit|zu|von|rin|ran|rauf|ruber|bei|gegen|durch)"
        r"|ihn|ihm|deren|dessen|sie(?=\W*\Z)|beiden?|solche[rsnm]?",
        how=r"wie",
        means={
            "warum|wieso|weshalb": "why",
            "beispiele?": "example",
            "standardwert|voreinstellung|vorgabewert": "default value",
            "unterschiede?": "difference",
            "fehler": "error",
            "vorteile?": "advantages",
            "nachteile?": "disadvantages",
            "parametern?": "parameters",
            "optionen": "options",
        },
    ),
    _Language(  # French
        small="""
        le la les l un une des du de d et ou mais est sont etait que qu quel quelle quels quelles qui quoi comment
        ou quand dans pour avec sur sans par au aux en a ne pas plus il elle on je tu nous vous me moi peux peut
        puis pouvez dois doit faut fait faire fais marche fonctionne signifie dire donne donner donnez montre
        explique se y s n c j t ce si est-ce a-t-il aussi alors encore bien svp stp
        """,
        opening=r"(?:et|mais|ou|qu['’]en\s+est-il)\b",
        back=r"[cC]a|[cC]ela|[cC]eci|[cC]elui|[cC]elle|[cC]eux|[cC]elles|son|sa|ses|leurs?|ils?(?!\s+y\b)|elles?|lui|[cC]e(?=\s+\w)"
        r"|l(?=['’]\w+er\b)",
        how=r"comment",
        means={
            "pourquoi": "why",
            "exemples?": "example",
            "valeur par defaut|par defaut": "default value",
            "differences?": "difference",
            "erreurs?": "error",
            "avantages": "advantages",
            "inconvenients": "disadvantages",
            "parametres?": "parameters",
            "options": "options",
        },
    ),
    _Language(  # Spanish
        small="""
        el la los las lo un una unos unas y e o pero es son era que cual cuales como donde cuando quien para por
        con sin sobre en a al de del se me te le nos no mas hay puedo puede pueden debo debe tengo hace hacer hago
        funciona significa quiere decir da dame muestra muestrame explica explicame tambien entonces si mi
        """,
        opening=r"(?:y|pero|o|que\s+(?:hay|pasa)\s+(?:de|con))\b",
        back=r"[eE]so|[eE]sto|ello|aquello|[eE]s[ea]s?|[eE]sos|[eE]st[ea]s?|[eE]stos|sus?|lo(?=\s+\w+o\b)|\w+[aei]rl[oa]s?|ambos",
        how=r"como",
        means={
            "por que": "why",
            "ejemplos?": "example",
            "valor (?:por defecto|predeterminado)|por defecto": "default value",
            "diferencias?": "difference",
            "error(?:es)?": "error",
            "ventajas": "advantages",
            "desventajas": "disadvantages",
            "parametros?": "parameters",
            "opciones": "options",
            "causas?": "cause",
        },
    ),
    _Language(  # Portuguese
        small="""
        o a os as um uma uns umas e ou mas eh sao era que qual quais como onde quando quem para por com sem sobre
        em no na nos nas ao do da dos das de se me nao mais ha posso pode podem devo deve tenho faz fazer faco
        funciona significa quer dizer da de-me mostra mostre explica explique tambem entao meu
        """,
        opening=r"(?:e|mas|ou)\b",
        back=r"[iI]sso|[iI]sto|aquilo|d?el[ea]s?|seus?|suas?|[eE]ss[ea]s?|[eE]st[ea]s?|[dn]iss?to?|[dn]isso|\w+[aei]?-l[oa]s?|ambos",
        how=r"como",
        means={
            "por ?que": "why",
            "exemplos?": "example",
            "valor (?:padrao|predefinido|por omissao)": "default value",
            "diferencas?": "difference",
            "erros?": "error",
            "vantagens": "advantages",
            "desvantagens": "disadvantages",
            "parametros?": "parameters",
            "opcoes": "options",
        },
    ),
    _Language(  # Italian
        small="""
        il lo la i gli le l un uno una e ed o ma sono era che cosa cos come dove quando chi quale quali qual per
        con senza su sul sulla nel nella in a al alla di del della dei delle si mi ti ci non piu puo posso possono
        devo deve ho ha fa fare faccio funziona significa vuol dire dammi mostra mostrami spiega spiegami anche
        allora
        """,
        opening=r"(?:e|ed|ma|o)\b",
        back=r"[qQ]uest[oaie]|[qQ]uell[oaie]|cio|suo[ia]?|sua|sue|loro|ess[oaie]|\w+[aei]rl[oaie]|farl[oaie]|entramb[ie]",
        how=r"come",
        means={
            "perche": "why",
            "esempi(?:o)?": "example",
            "valore (?:predefinito|di default)": "default value",
            "differenz[ae]": "difference",
            "error[ei]": "error",
            "vantaggi": "advantages",
            "svantaggi": "disadvantages",
            "parametri": "parameters",
            "opzioni": "options",
        },
    ),
    _Language(  # Chinese
        small="""
        的 是 什么 吗 呢 了 在 有 和 与 或 但 也 都 就 还 我 你 请 给 给我 一个 一些 怎么 怎样 如何 怎么样 做 用
        使用 使 哪里 哪儿 哪个 哪些 什么时候 谁 多少 可以 能 能不能 要 需要 应该 意思 说明 解释 一下 告诉 举 个
        关于 更多 再 对 中 里 上 会 不 吧 呀 啊 那么 那 它们
        """,
        opening=r"(?:那么?|和|而|但|还有|关于)",
        back=r"它们?|这个?|这些|那个|那些|其|此|该|上述|两者",
        how=r"怎么样?|怎样|如何",
        means={
            "为什么|为何": "why",
            "例子|示例|举例": "example",
            "默认值|默认": "default value",
            "区别|不同": "difference",
            "错误|报错": "error",
            "优点": "advantages",
            "缺点": "disadvantages",
            "参数": "parameters",
            "选项": "options",
        },
        spaced=False,
    ),
    _Language(  # Urdu
        small="""
        کیا کیسے کہاں کب کون کس ہے ہیں ہو تھا کا کی کے کو میں سے پر نے اور یا لیکن بھی تو ہی ایک کر کریں کرتا کرتے
        کرنا کروں دیں دو دے بتائیں بتاؤ سمجھائیں وضاحت مجھے ہم آپ لیے مزید کرو سکتا سکتے مطلب کام
        """,
        opening=r"(?:اور|لیکن|یا|تو)(?!\w)",
        back=r"اس|ان|یہ|وہ|اسے|انہیں|اسی|دونوں",
        how=r"کیسے",
        means={"کیوں": "why", "مثال(?:یں)?": "example", "فرق": "difference", "پیرامیٹرز?": "parameters"},
    ),
)
# Words of the tables that are English, too: alone they show nothing.
_ENGLISH = frozenset(
    """
    a am an as at dare dame dire do does de die in is it i man me mal no o on so son war was sage par per plus puts sa
    se come chi fa la le ha hat tun tue sole sue e y d l s t c n j da du os or es en ed on option options parameter
    error ca nas
    """.split()  # noqa: SIM905 - quoted one by one they would be harder to read
)
_ENGLISH_TOO = frozenset({"o", "or", "mas", "ou", "ma", "ed"})  # at the beginning, too
_WORD = re.compile(r"[^\W_]+(?:[._-][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A question in another language, as far as a table of words can read it."""

    rules: tuple[str, ...]  # what in it points back; none: it makes sense alone
    named: str  # the words that no table knows: what it is about, if it is about anything
    own: str  # these, and in English what it asks about them
    usual: frozenset[int]  # the ids of its other words: a book that has them is written in this language

    @property
    def turn(self) -> str:
        """ "et pour connectionTimeout ?" in English, where what it turns to has a name that needs no translation."""
        words = self.named.split()
        return f"and {self.named}?" if "opening" in self.rules and words and all(map(names_something, words)) else ""

    def native(self, book: Container[int]) -> bool:
        """Whether the book, of which these terms are known, is written in the question's language."""
        return 2 * sum(term in book for term in self.usual) > len(self.usual)


def read_elsewhere(question: str) -> Elsewhere | None:
    """None for English, and for a language that no row knows."""
    if not question or len(question) > LONGEST_FOLLOW_UP or "\n" in question.strip():
        return None
    plain = without_accents(question.replace("ß", "ss"))
    found = [reading for language in _LANGUAGES if (reading := _read(plain, language))]
    return max(found, key=lambda one: one[0])[1] if found else None


def _read(question: str, language: _Language) -> tuple[float, Elsewhere] | None:
    """How much of the question is in this language, and how it reads in it."""
    opening, back, known = language.patterns
    said = [found["means"] for found in known.finditer(question) if found["means"]]
    words = _WORD.findall(known.sub(" ", question))
    small = [word for word in words if word.lower() in language.words]
    if not language.spaced:
        small = [found[0] for found in known.finditer(question) if not found["means"]]
    pointing = [found[0] for found in back.finditer(question)]
    usual = {word.lower() for word in (*small, *pointing)}
    named = [word for word in words if word.lower() not in usual]
    begins = opening.match(question)
    telling = {word.lower() for word in (*small, *said, *pointing)} - _ENGLISH
    if begins and question[begins.end() : begins.end() + 1].isspace() and begins[0].lower() not in _ENGLISH_TOO:
        telling.add(begins[0])
    share = 1 - len(named) / max(1, len(named) + len(small) + len(said) + len(pointing))
    if not telling or share < 1 / 2:
        return None
    signs = {
        "opening": bool(begins) and len(named) <= _MOST_OWN,
        "pronoun": bool(pointing) and len(named) <= _MOST_OWN,
        "empty": not named,
    }
    own = " ".join((*(language.english(word) for word in said), *named))
    how = "how to" if re.search(language.how, question, re.IGNORECASE) else ""
    rules = tuple(name for name, holds in signs.items() if holds)
    ids = term_ids(" ".join(word for word in (*small, *said) if word.lower() not in _ENGLISH and len(word) > 1))
    return share + len(telling) / 100, Elsewhere(rules, " ".join(named), own or how, ids)
