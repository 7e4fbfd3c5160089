"""What the scripted companion says: five scenes, in English and Korean, each in two wordings.

    scene = choose("What is on today?", take=1)
    scene.opening                   "One moment, I will look at your calendar. "
    scene.tool, scene.arguments     "calendar", {"language": "en"}
    scene.passage(result)           the rest of the reply, which says what the tool returned

The words are plain and common, so that a small speech recogniser can check that the voice said them, and
hours are spelled out, so that every voice reads them alike. May be imported by `onetake.server.companion`
only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Scene:
    """One reply: a line before the tool call, the call, and the words after it, which use the result."""

    opening: str
    tool: str
    arguments: dict[str, str]
    passage: Callable[[dict[str, Any]], str]


def choose(message: str, take: int) -> Scene:
    """The scene that answers `message`. Takes count from 1; the next one words the same scene differently."""
    language = "ko" if re.search(r"[\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3]", message) else "en"
    name = next((name for name, words in _CUES if re.search(words, message, re.IGNORECASE)), "other")
    opening, passage = _WORDINGS[language, name][(take - 1) % 2]
    if name == "time":
        return Scene(opening, "clock", {}, lambda result: _tell_time(language, passage, result))
    help_card = _HELP_CARD[language] if name == "other" else None
    call = {"language": language}
    return Scene(opening, "calendar", call, lambda result: _tell_day(language, passage, help_card, result))


_CUES = [
    ("story", r"\b(story|stories|tale)\b|이야기|동화|옛날"),
    ("time", r"\b(time|clock|o'clock)\b|몇\s*시|시계|시간"),
    ("today", r"\b(today|tomorrow|day|calendar|schedule|plans?)\b|오늘|일정|약속|스케줄"),
    ("greeting", r"\b(hello|hi|hey|good (morning|afternoon|evening))\b|안녕|반가"),
]

# Per language and scene two wordings, each (opening, passage). A passage may use {day}: the calendar's
# entries in words, {first}: the hour of the first one, {time}: the hour of the clock, [card]: the same as a
# table.
_WORDINGS: dict[tuple[str, str], list[tuple[str, str]]] = {
    ("en", "greeting"): [
        (
            "Hello, it is good to hear from you. Let me see what your day looks like. ",
            "Here we are. {day}\n\n"
            "I am a scripted companion, so every word was written before you came. [softly] But the voice "
            "is real, and I hope you enjoy it.\n\n"
            "[card]\n[emotion:joy]",
        ),
        (
            "Hi there, welcome back. Give me a second to open your calendar. ",
            "All right, I have it. {day}\n\n"
            "Please remember that I only follow a script. [softly] Still, I am happy to keep you company "
            "for a while.\n\n"
            "[card]\n[emotion:joy]",
        ),
    ],
    ("en", "today"): [
        (
            "One moment, I will look at your calendar. ",
            "There are three things for today. {day}\n\n"
            "[softly] That leaves some time for a walk in between. The calendar is only an example, and my "
            "words come from a script.\n\n"
            "[card]\n[emotion:warm]",
        ),
        (
            "Good question. Let me open the calendar and see. ",
            "Here is your day. {day}\n\n"
            "[softly] It looks like a quiet day to me. You should know that both the calendar and my words "
            "are made up for this page.\n\n"
            "[card]\n[emotion:warm]",
        ),
    ],
    ("en", "time"): [
        (
            "Let me look at the clock for you. ",
            "It is {time}.\n\n"
            "[softly] There is still time to do something nice. I follow a script, but the clock is a real "
            "one.\n\n"
            "[card]\n[emotion:warm]",
        ),
        (
            "Sure, one second, I will check the clock. ",
            "The clock says {time}.\n\n"
            "[softly] I hope the day is treating you well. My words come from a script, but the time is "
            "true.\n\n"
            "[card]\n[emotion:warm]",
        ),
    ],
    ("en", "story"): [
        (
            "I would love to tell you a story. First let me see how much time we have. ",
            "Good, nothing on your calendar is in a hurry, and the first thing is only at {first}. So sit "
            "back and listen.\n\n"
            "Once there was an old man who lived in a small house by the sea. Every evening he put a light "
            "in his window, so that the boats could find their way home. The people in the village smiled "
            "about him, because there was a big new light on the hill, and nobody needed the little one any "
            "more. But the old man did not mind. He cleaned the glass, he lit the lamp, and he sat down "
            "next to it with a cup of tea.\n\n"
            "One night a great storm came in from the west. The rain was so heavy that the big light on the "
            "hill went out, and the sea turned black. Far out on the water there was a boat with a father "
            "and his two children. They could not see the land, and they did not know where to go.\n\n"
            "[softly] Then the girl saw it. It was very small, and it was very low, but it was warm and it "
            "did not move. There, she said, that is the window of the old man. They turned the boat and "
            "followed the light, slowly, wave after wave, until they felt the sand under their feet.\n\n"
            "In the morning the whole village came to the little house. They brought bread and fish and a "
            "new lamp. The old man thanked them, and he put the new lamp on the table. But in the evening "
            "it was the old one that stood in the window, because, he said, it knows the way.\n\n"
            "That is the end. It is a scripted story, and I can tell it in another way if you ask me "
            "again.\n\n"
            "[card]\n[emotion:warm]",
        ),
        (
            "A story, with pleasure. Let me check your calendar before we begin. ",
            "We have time. The first thing in your calendar is at {first}, and it can wait. Now close your "
            "eyes for a moment.\n\n"
            "There was a girl who found a small brown seed on her way to school. She did not know what it "
            "was, so she asked everyone she met. The baker said that it was a bean, and that she should eat "
            "it. The teacher said that it was a stone, and that she should throw it away. Her grandmother "
            "looked at it for a long time and said, put it into the ground, and then you will see.\n\n"
            "So the girl put it into the ground behind the house, and every day she gave it water. Nothing "
            "happened for a week. Nothing happened for a month. The other children laughed, and in the end "
            "even the girl began to think that the teacher had been right.\n\n"
            "[softly] Then the winter came, and the snow lay on the garden, and she forgot about the seed. "
            "But under the snow, in the dark, something had started to grow. It did not hurry. It waited "
            "until the sun came back.\n\n"
            "One morning in the spring the girl opened the window, and there was a tree. It was no taller "
            "than her hand, and it had two green leaves. She ran to her grandmother and asked what it would "
            "be. And the old woman laughed and said, I still do not know, but now we have something to look "
            "forward to.\n\n"
            "And that is all. I read it from a script, but I am glad that you listened.\n\n"
            "[card]\n[emotion:warm]",
        ),
    ],
    ("en", "other"): [
        (
            "I am not sure that I understood you. Let me look at your calendar while I think. ",
            "I have to be honest with you. I am a scripted companion, so I know only a few scenes, and this "
            "was not one of them. [softly] But you can say hello, ask what is on today, ask what time it "
            "is, or ask me to tell you a story. {day}\n\n"
            "[card]\n[emotion:warm]",
        ),
        (
            "Hmm, let me think about that, and look at your day at the same time. ",
            "To tell you the truth, I follow a script, and your words are not in it. [softly] Please try "
            "one of these. Say hello, ask for the time, ask about today, or ask for a story. {day}\n\n"
            "[card]\n[emotion:warm]",
        ),
    ],
    ("ko", "greeting"): [
        (
            "안녕하세요, 반가워요. 오늘 하루가 어떤지 잠깐 볼게요. ",
            "확인했어요. {day}\n\n"
            "저는 대본대로 말하는 친구예요. 그래서 제 말은 모두 미리 써 둔 거예요. [softly] 그래도 목소리는 "
            "진짜니까 편하게 들어 주세요.\n\n"
            "[card]\n[emotion:joy]",
        ),
        (
            "네, 안녕하세요. 다시 와 줘서 고마워요. 일정부터 열어 볼게요. ",
            "자, 여기 있어요. {day}\n\n"
            "저는 정해진 대본만 따라가요. [softly] 그래도 잠시 곁에 있을 수 있어서 기뻐요.\n\n"
            "[card]\n[emotion:joy]",
        ),
    ],
    ("ko", "today"): [
        (
            "잠깐, 일정 확인해볼게요. ",
            "오늘은 세 가지가 있어요. {day}\n\n"
            "[softly] 사이에 산책할 시간도 있겠네요. 이 일정은 보기로 만든 것이고, 저도 대본대로 말하고 "
            "있어요.\n\n"
            "[card]\n[emotion:warm]",
        ),
        (
            "좋은 질문이에요. 달력을 열어 볼게요. ",
            "오늘 하루를 말해 드릴게요. {day}\n\n"
            "[softly] 비교적 조용한 날이네요. 달력도 제 말도 이 페이지를 위해 미리 만든 거예요.\n\n"
            "[card]\n[emotion:warm]",
        ),
    ],
    ("ko", "time"): [
        (
            "시계를 한번 볼게요. ",
            "지금은 {time}이에요.\n\n"
            "[softly] 아직 좋은 일을 하나쯤 할 시간이 있어요. 제 말은 대본이지만 시계는 진짜예요.\n\n"
            "[card]\n[emotion:warm]",
        ),
        (
            "네, 잠시만요, 시계를 확인할게요. ",
            "시계를 보니 {time}이네요.\n\n"
            "[softly] 오늘 하루가 편안하면 좋겠어요. 저는 대본을 읽지만 시간은 맞아요.\n\n"
            "[card]\n[emotion:warm]",
        ),
    ],
    ("ko", "story"): [
        (
            "이야기 좋죠. 먼저 시간이 얼마나 있는지 볼게요. ",
            "다행히 급한 일은 없네요. 첫 일정은 {first}에 있어요. 그럼 편하게 앉아서 들어 보세요.\n\n"
            "옛날 바닷가 작은 집에 할아버지 한 분이 살았어요. 할아버지는 저녁마다 창가에 등불을 켜 "
            "두었어요. 배들이 집으로 돌아오는 길을 찾을 수 있게요. 마을 사람들은 웃었어요. 언덕 위에 크고 "
            "새로운 등대가 생겨서, 이제 작은 등불은 아무에게도 필요하지 않았거든요. 하지만 할아버지는 "
            "괜찮았어요. 유리를 닦고, 불을 켜고, 그 옆에 앉아 차를 마셨어요.\n\n"
            "어느 날 밤 서쪽에서 큰 폭풍이 왔어요. 비가 너무 많이 내려서 언덕 위의 등대가 꺼지고, 바다는 "
            "캄캄해졌어요. 먼 바다에는 아버지와 두 아이가 탄 배가 있었어요. 땅이 보이지 않아서 어디로 가야 "
            "할지 몰랐어요.\n\n"
            "[softly] 그때 아이가 불빛을 보았어요. 아주 작고 아주 낮았지만, 따뜻하고 흔들리지 않았어요. "
            "저기, 할아버지 창문이에요. 그들은 배를 돌려서 천천히, 파도를 하나씩 넘으며 불빛을 따라갔어요. "
            "마침내 발밑에 모래가 느껴졌어요.\n\n"
            "아침에 온 마을이 작은 집으로 왔어요. 빵과 생선과 새 등불을 가지고요. 할아버지는 고맙다고 "
            "말하고 새 등불을 탁자 위에 놓았어요. 하지만 저녁이 되자 창가에는 낡은 등불이 있었어요. 이 "
            "등불이 길을 알거든, 하고 할아버지는 말했어요.\n\n"
            "이야기는 여기까지예요. 대본에 있는 이야기지만, 다시 부탁하면 다른 이야기를 들려드릴게요.\n\n"
            "[card]\n[emotion:warm]",
        ),
        (
            "기꺼이요. 시작하기 전에 일정을 볼게요. ",
            "시간이 있네요. 첫 일정은 {first}이니까 괜찮아요. 잠시 눈을 감아 보세요.\n\n"
            "한 아이가 학교 가는 길에 작은 갈색 씨앗을 주웠어요. 무엇인지 몰라서 만나는 사람마다 "
            "물어보았어요. 빵집 아저씨는 콩이니까 먹으라고 했어요. 선생님은 돌이니까 버리라고 했어요. "
            "할머니는 한참을 보다가 말했어요. 땅에 심어 보렴, 그러면 알게 될 거야.\n\n"
            "아이는 집 뒤에 씨앗을 심고 날마다 물을 주었어요. 한 주가 지나도 아무 일이 없었어요. 한 달이 "
            "지나도 아무 일이 없었어요. 친구들은 웃었고, 나중에는 아이도 선생님 말이 맞았다고 생각하기 "
            "시작했어요.\n\n"
            "[softly] 겨울이 오고 마당에 눈이 쌓이자 아이는 씨앗을 잊었어요. 하지만 눈 아래 어두운 곳에서 "
            "무언가가 자라기 시작했어요. 서두르지 않았어요. 해가 돌아올 때까지 기다렸어요.\n\n"
            "어느 봄날 아침 아이가 창문을 열자 나무가 한 그루 있었어요. 손바닥만 한 키에 푸른 잎이 두 장 "
            "있었어요. 아이는 할머니에게 달려가서 무슨 나무가 될지 물었어요. 할머니는 웃으며 말했어요. 아직 "
            "나도 모르지만, 이제 기다릴 것이 생겼구나.\n\n"
            "이게 끝이에요. 대본을 읽은 것이지만 들어 줘서 고마워요.\n\n"
            "[card]\n[emotion:warm]",
        ),
    ],
    ("ko", "other"): [
        (
            "제가 잘 이해했는지 모르겠어요. 생각하는 동안 일정을 볼게요. ",
            "솔직히 말할게요. 저는 대본대로 말하는 친구라서 몇 가지 장면만 알아요. 방금 하신 말씀은 거기에 "
            "없었어요. [softly] 인사를 하거나, 오늘 일정을 묻거나, 몇 시인지 묻거나, 이야기를 해 달라고 해 "
            "보세요. {day}\n\n"
            "[card]\n[emotion:warm]",
        ),
        (
            "음, 잠시 생각해 볼게요. 오늘 하루도 함께 볼게요. ",
            "사실 저는 대본을 따라가는데, 그 말씀은 대본에 없어요. [softly] 이 가운데 하나를 말해 보세요. "
            "안녕, 지금 몇 시야, 오늘 일정 알려 줘, 이야기 해 줘. {day}\n\n"
            "[card]\n[emotion:warm]",
        ),
    ],
}

_HELP_CARD = {
    "en": [("Say", "and you get"), ("Hello", "a greeting"), ("What is on today?", "your day"),
           ("What time is it?", "the time"), ("Tell me a story.", "a long story")],
    "ko": [("이렇게 말하면", "이런 대답"), ("안녕", "인사"), ("오늘 일정 알려 줘", "오늘 일정"),
           ("지금 몇 시야?", "시각"), ("이야기 해 줘", "긴 이야기")],
}  # fmt: skip
_DAY_HEADING = {"en": ("Time", "What"), "ko": ("시각", "일정")}
_CLOCK_HEADING = {"en": ("Date", "Time"), "ko": ("날짜", "시각")}


def _tell_day(language: str, passage: str, card: list[tuple[str, str]] | None, result: dict[str, Any]) -> str:
    entries = [(entry["start"], entry["title"]) for entry in result["entries"]]
    hours = [_hour_in_words(language, start) for start, _ in entries]
    day = " ".join(
        f"{hour}에는 {title}{_subject_particle(title)} 있어요."
        if language == "ko"
        else f"At {hour} you have {title}."
        for hour, (_, title) in zip(hours, entries, strict=True)
    )
    words = passage.replace("{day}", day).replace("{first}", hours[0])
    return words.replace("[card]", _card(card or [_DAY_HEADING[language], *entries]))


def _tell_time(language: str, passage: str, result: dict[str, Any]) -> str:
    words = passage.replace("{time}", _hour_in_words(language, result["time"]))
    return words.replace("[card]", _card([_CLOCK_HEADING[language], (result["date"], result["time"])]))


def _subject_particle(noun: str) -> str:
    """이 after a final consonant, 가 after a vowel; Hangul syllables are laid out in rows of 28 finals."""
    return "이" if (ord(noun[-1]) - 0xAC00) % 28 else "가"


def _card(rows: list[tuple[str, str]]) -> str:
    heading, *body = (f"| {left} | {right} |" for left, right in rows)
    return "\n".join(["```card", heading, "|---|---|", *body, "```"])


# fmt: off
_ENGLISH = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]
_ENGLISH_TENS = ["", "", "twenty", "thirty", "forty", "fifty"]
_KOREAN_HOURS = ["열두", "한", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉", "열", "열한"]
_KOREAN = ["", "일", "이", "삼", "사", "오", "육", "칠", "팔", "구"]
# fmt: on


def _hour_in_words(language: str, clock: str) -> str:
    """`"14:05"` as `"five minutes past two in the afternoon"` or `"오후 두 시 오 분"`."""
    hour, minute = (int(part) for part in clock.split(":"))
    if language == "ko":
        half = "오전" if hour < 12 else "오후"
        tens, ones = divmod(minute, 10)
        number = ("" if tens < 2 else _KOREAN[tens]) + ("십" if tens else "") + _KOREAN[ones]
        return f"{half} {_KOREAN_HOURS[hour % 12]} 시" + (f" {number} 분" if minute else "")
    named = _ENGLISH[hour % 12 or 12]
    half = "in the morning" if hour < 12 else "in the afternoon" if hour < 18 else "in the evening"
    if minute == 0:
        return f"{named} o'clock {half}"
    if minute == 30:
        return f"half past {named} {half}"
    if minute < 20:
        number = _ENGLISH[minute]
    else:
        tens, ones = divmod(minute, 10)
        number = f"{_ENGLISH_TENS[tens]} {_ENGLISH[ones]}" if ones else _ENGLISH_TENS[tens]
    return f"{number} minute{'s' if minute > 1 else ''} past {named} {half}"
