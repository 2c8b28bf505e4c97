"""Refusals in more languages, by table: a word for the book, one for *not* and one for saying. Pure.

In: one clause without markers, markup, code and quotations. Out: whether it says, in one of these languages, that the
book does not say it. Word order differs from language to language, so only the three words count, wherever they are.
What follows *that* is what the book says: "Il libro dice che il nodo non parte" is an answer. The nouns are those that
can hardly mean something in a program. A new language is a row here and a few sentences in tests/refusal_corpus.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class _Language:
    book: str
    negation: str
    saying: str
    that: str = r"(?!)"  # begins what the book says

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(part, re.IGNORECASE) for part in (self.book, self.negation, self.saying))

    @cached_property
    def _said(self) -> re.Pattern[str]:
        return re.compile(self.that, re.IGNORECASE)

    def names_book(self, words: str) -> bool:
        return bool(self._patterns[0].search(words))

    def search(self, clause: str) -> bool:
        said = self._said.search(clause)
        head = clause[: said.start()] if said else clause
        if said and not self.names_book(head):  # "Me temo que el libro no …": it is not the book that says *that*
            head = clause
        return all(pattern.search(head) for pattern in self._patterns)


LANGUAGES = (
    _Language(  # German
        r"\b(?:buch(?:es|s)?|handbuch(?:es|s)?|passagen?|textstellen?|textpassagen?|auszügen?|auszüge)\b",
        r"\b(?:nichts?|kein\w*|nirgends|schweig\w+)\b",
        r"\b(?:sag|gesagt|verrat|verrät|nenn|genannt|erwähn|enth[aä]lt|beschr|behandel|erklär|angabe|auskunft|antwort|steh"
        r"|beantwort|information|find|gefunden|schweig|hinweis|anhaltspunkt|äußer|ein\b)\w*|\bgeh(?:t|en)\b|\bdie\s+rede\b",
        r"\bdass\b",
    ),
    _Language(  # Spanish
        r"\b(?:libro|pasajes?|fragmentos?|extractos?|el\s+manual)\b",
        r"\b(?:no|nada|ning[uú]n[oa]?|tampoco)\b",
        r"\b(?:mencion|dic|hay|habla|trata|abord|aclar|contien|explic|especific|indic|inform|respond|respuesta|aparec|encontr|encuentr)\w*",
        r"\bque\b",
    ),
    _Language(  # Italian
        r"\b(?:libro|passagg[io]{1,2}|bran[io]|estratt[io]|il\s+manuale|testo\s+(?:selezionato|fornito)|documentazione)\b",
        r"\b(?:non|nessun\w*|niente|nulla|tac[ei]\w*)\b",
        r"\b(?:tac[ei]|dic|menzion|parl|contien|conteng|specific|indic|spieg|trov|inform|tratt|rispo|descriv|forni|cita|precis"
        r"|presen)\w*",
        r"\bche\b",
    ),
    _Language(  # Portuguese
        r"\b(?:livro|passage(?:m|ns)|trechos?|excertos?|texto\s+(?:selecionado|fornecido)|documentação)\b",
        r"\b(?:não|nenhum\w*|nada)\b",
        r"\b(?:diz|mencion|fala|cont[eé]m|contêm|inclu|especific|indic|explic|encontr|informa|trata|abord|respond|respost"
        r"|descrev|fornec|cita|consta)\w*",
        r"\bque\b",
    ),
    _Language(  # Dutch
        r"\b(?:boek|passages?|fragment(?:en)?|tekst|documentatie)\b",
        r"\b(?:niets?|geen|nergens)\b",
        r"\b(?:zeg|vermeld|noem|genoemd|bevat|beschr|besprek|besproken|gaat|gaan|informatie|staat|vind|gevonden|antwoord"
        r"|beantwoord|uitgelegd|geef)\w*",
        r"\b(?:zegt|zeggen|vermeldt|stelt)\s*,?\s+dat\b",
    ),
    _Language(  # Russian
        r"\b(?:книг|отрывк|фрагмент|документаци|текст)\w*",
        r"\b(?:не|нет|ничего|нигде|отсутству\w+)\b",
        r"\b(?:сказан|говор|упом|информаци|содерж|опис|указ|найд|нашл|нахо|ответ|объясн|рассм|привод|привед|рассказ)\w*",
        r",\s*что\b",
    ),
    _Language(  # Arabic
        r"(?:كتاب|النص|النصوص|المقاطع|المقتطفات|الفقرات|الوثائق)",
        r"(?<!\w)(?:و?لا|لم|ليس|ليست|لن|غير)(?!\w)",
        r"(?:ذكر|ذكور|معلومات|تناول|حتوي|وضح|شرح|جابة|جيب|أجد|أعثر|قول|رد|تحدث)",
        r"(?<!\w)(?:أن|إن|أنه|أنها)(?!\w)",
    ),
    _Language(  # Turkish
        r"\b(?:kita[pb]|metin|metn|pasaj|alıntı)\w*",
        r"\b(?:yok\w*|değil)\b|\w(?:m[ıiuü]yor|mam[ıi]ş|mem[ıi]ş|mad[ıi]|med[ıi]|maz|mez)\w*",
        r"\b(?:bilgi|bahs|söyle|belirt|içer|açıkla|geç|bul|cevap|yanıt|değin)\w*",
        r"\b(?:olduğunu|diyor)\b",
    ),
    _Language(  # Hindi
        r"पुस्तक|किताब|पाठ|अंश|अनुच्छेद",
        r"नहीं|नही",
        r"उल्लेख|जानकारी|बताया|बताती|बताते|कहा|उत्तर|जवाब|वर्णन|मिला|मिली|लिखा|चर्चा",
        r"\sकि\s",
    ),
    _Language(  # Japanese: what is said comes before と
        r"本(?:に|で|の|文|書)|書籍|文章|抜粋|箇所|テキスト|ドキュメント|について",
        r"ありません|いません|ません|ない",
        r"(?:記載|情報|言及|説明|記述|答え|回答|触れ|書かれて)[^、。]{0,10}(?:ありません|いません|ません|な)",
        r"と(?:書|述|言|記|説)",
    ),
    _Language(  # Korean
        r"책|본문|발췌|구절|텍스트",
        r"없|않|못",
        r"(?:정보|언급|설명|답|내용|나와|기술)[^,.]{0,10}(?:없|않|못)",
        r"다고\s",
    ),
    _Language(  # Polish
        r"\b(?:książ[kc]|fragment|tekst|dokumentacj|źródł)\w*",
        r"\b(?:nie|brak|nic|żad\w+)\b",
        r"\b(?:wspomin|mówi|mow[ay]|podaj|zawier|opis|wyjaśni|informacj|wzmian|odpowied|znala|dotycz|określ)\w*",
        r",\s*że\b",
    ),
    _Language(  # Czech and Slovak
        r"\b(?:kni[hz]|knih|úryv|pasáž|text|dokumentac)\w*",
        r"\b(?:není|nejsou|žádn\w+|nic|nie\s+je|ne\w+)\b",
        r"\b(?:zmi[nň]|zmín|uvád|uved|píš|popis|obsah|informac|odpov|nale|vysvětl|hovoř)\w*|\bne(?:zmi|uvád|popis|obsah|píš|řík|hovoř)\w*",
        r",\s*že\b",
    ),
    _Language(  # Swedish, Danish, Norwegian
        r"\b(?:bok(?:en|a)?|bogen|texten|teksten|utdrag(?:en|et)?|uddrag(?:ene|et)?|avsnitt(?:en|ene)?|passagerne?|passagen)\b",
        r"\b(?:inte|ikke|inget|ingenting|intet|inga|ingen)\b",
        r"\b(?:nämn|nævn|nevn|säg|sig|sier|står|stod|tar\s+upp|beskriv|beskrev|innehåll|inneholder|indeholder|information|omtal|förklar"
        r"|forklar|svar|framgår|fremgår)\w*",
        r"\b(?:att|at)\b",
    ),
    _Language(  # Finnish
        r"\b(?:kirja|teksti|katkelm|ote|ottei)\w*",
        r"\b(?:ei|eivät|en)\b",
        r"\b(?:maini|kerro|sano|käsitel|löyd|sisäl|vasta|selit|tieto|tietoa)\w*",
        r"\bettä\b",
    ),
    _Language(  # Ukrainian
        r"\b(?:книз|книг|урив|фрагмент|текст|документаці)\w*",
        r"\b(?:немає|нема|нічого|ніде|не\s+(?:місти|згад|опису|вказ|поясн|говор|йдеться))\w*",
        r"\b(?:сказан|говор|згад|інформаці|міст|опис|вказ|знай|знах|відповід|поясн|йдеться)\w*",
        r",\s*що\b",
    ),
    _Language(  # Vietnamese
        r"(?:sách|đoạn\s+(?:trích|văn)|văn\s+bản|tài\s+liệu)",
        r"\b(?:không|chưa|chẳng)\b",
        r"(?:đề\s+cập|nói|nêu|thông\s+tin|trả\s+lời|nhắc|tìm\s+thấy|giải\s+thích|mô\s+tả)",
        r"\brằng\b",
    ),
    _Language(  # Indonesian and Malay
        r"\b(?:buku|kutipan|teks|bagian|dokumen(?:tasi)?)(?:nya)?\b",
        r"\b(?:tidak|tak|tiada|belum)\b",
        r"\b(?:membahas|menyebut|menjelaskan|memuat|memberi|informasi|ada|disebut|dibahas|dijelaskan|menemukan|menjawab|berisi)\w*",
        r"\bbahwa\b",
    ),
    _Language(  # Persian
        r"(?:کتاب|متن|بخش‌?ها|گزیده)",
        r"(?:نمی|نشده|نیست|ندارد|نکرده|هیچ)",
        r"(?:اشاره|ذکر|اطلاعات|گفته|توضیح|پاسخ|بیان|آمده|گوید)",
        r"(?<!\w)که(?!\w)",
    ),
)
APOLOGIES = (
    r"\A\W*(?:mi\s+dispiace|purtroppo|desculpe|infelizmente|helaas|het\s+spijt\s+me|извините|простите|к\s+сожалению|عذرًا"
    r"|عذرا|للأسف|آسف|üzgünüm|maalesef|माफ़?\s*(?:कीजिए|करें)|क्षमा\s+करें|申し訳(?:ありません|ございません)が?|すみません|죄송합니다"
    r"|죄송하지만|niestety|przepraszam|bohužel|bohužiaľ|tyvärr|desværre|dessverre|beklager|valitettavasti|на\s+жаль|rất\s+tiếc|xin\s+lỗi|maaf"
    r"|متأسفانه)\W*\Z"
)
