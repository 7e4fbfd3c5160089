// Every word of the page, in English and Korean: one table, read by the page's scripts and by its Python alike.
//
//   words("unit.failed", { why: "…" })      the text in the page's language; `{why}` is filled in
//   useLanguage("ko")                       switches the page, what is marked up in index.html included
//
// In index.html `data-words="key"` names an element's text, `data-words-label` its accessible name and tooltip,
// `data-words-placeholder` its placeholder.

import { TROUBLE } from "./trouble.mjs";

const WORDS = {
  en: {
    "hint": "Write a message. The answer is spoken, each part of it in one take.",
    "hint.today": "What is on today?",
    "hint.story": "Tell me a story.",
    "conversation": "Conversation",
    "who.scripted": "A scripted companion: it follows a script and is no model.",

    "write.label": "Your message",
    "write.placeholder": "Write to your companion …",
    "write.send": "Send",
    "write.empty": "There is nothing to send yet: write something first.",

    "boot.waking": "Waking the voice …",
    "boot.fetching": "Fetching the voice …",
    "boot.fetched": "Fetching the voice: {done} of {all} MB",
    "boot.starting": "Starting Python …",
    "boot.installing": "Unpacking Onetake …",
    "boot.stuck": "“{doing}” has not moved for a while",
    "boot.failed": "The voice could not start: {why}. What you wrote is kept.",

    "voice": "Voice",
    "voice.pause": "Pause (space)",
    "voice.resume": "Resume (space)",
    "voice.stop": "Stop (Esc)",
    "voice.replay": "Replay this part (R)",
    "voice.skip": "Skip this part (→)",
    "voice.regenerate": "Write the reply anew",
    "voice.mute": "Mute (M)",
    "voice.volume": "Volume",
    "voice.hear": "Tap to hear",
    "voice.let_go": "The sound of that part is no longer kept. Have the reply written anew to hear it again.",

    "bar.captions": "What is said",
    "bar.pause": "Pause",
    "bar.resume": "Resume",
    "bar.stop": "Stop",
    "bar.replay": "Replay this part",
    "bar.skip": "Skip this part",
    "bar.failed": "The voice could not start.",

    "state.booting": "",
    "state.idle": "",
    "state.listening": "Writing …",
    "state.speaking": "Speaking",
    "state.paused": "Paused",
    "state.blocked": "The browser holds the sound back until you tap.",
    "state.failed": "The reply broke off.",
    "state.done": "Done",
    "state.stopped": "Stopped",
    "state.reconnecting": "Reconnecting …",
    "net.offline": "You are offline. What is here is still spoken; writing goes on when the network is back.",

    "reply": "Reply",
    "reply.listen": "Read aloud",
    "tool.running": "at work …",
    "tool.done": "done",
    "tool.failed": "failed",
    "unit.failed": "Not spoken: {why}",
    "again": "Try again",

    "timeline": "How this was spoken",
    "timeline.part": "Part",
    "timeline.waiting": "Waiting",
    "timeline.writing": "Writing",
    "timeline.first_byte": "First byte",
    "timeline.first_sound": "First sound",
    "timeline.playing": "Playing",
    "timeline.sound": "Sound",
    "timeline.seconds": "{value} s",
    "timeline.floor": "The first words came after {first} s. The rest was written at {speed} characters per second.",

    "settings": "Settings",
    "settings.language": "Language",
    "settings.language.auto": "As the browser",
    "settings.voice": "Who speaks (from the next message on)",
    "settings.speed": "How fast (from the next part on)",
    "settings.sample": "Hear a sample",
    "settings.sample.text": "This is how I sound. One take, from the first breath to the last.",
    "settings.device": "Output",
    "settings.device.usual": "As the system",
    "settings.device.failed": "That output cannot be used: choose another one.",
    "settings.spoken": "Speak the replies",
    "settings.paragraphs": "Read written replies aloud, paragraph by paragraph",
    "settings.directions": "Show directions to the voice, such as softly",
    "settings.apart": "Keep the screen reader and the voice apart",
    "settings.apart.help": "On: your screen reader is told only what the voice does. Off: each whole reply, too.",
    "close": "Close",

    "help": "Help",
    "help.keys": "Keys",
    "help.space": "Pause, and go on",
    "help.escape": "Stop",
    "help.replay": "Hear this part again",
    "help.arrows": "The part before, the part after",
    "help.mute": "Mute",
    "help.slash": "Write",
    "help.help": "This sheet",
    "help.key.space": "Space",
    "help.ink": "What you have heard stands in full ink. A breath mark shows where the voice paused for a tool.",
  },
  ko: {
    "hint": "메시지를 쓰면 목소리로 대답해요. 한 부분을 한 번에, 끊지 않고 말해요.",
    "hint.today": "오늘 일정 알려 줘",
    "hint.story": "이야기 하나 들려줘",
    "conversation": "대화",
    "who.scripted": "대본대로 말하는 친구예요. 인공지능 모델이 아니에요.",

    "write.label": "메시지",
    "write.placeholder": "메시지를 써 보세요 …",
    "write.send": "보내기",
    "write.empty": "아직 보낼 말이 없어요. 먼저 메시지를 써 주세요.",

    "boot.waking": "목소리를 깨우는 중 …",
    "boot.fetching": "목소리를 가져오는 중 …",
    "boot.fetched": "목소리를 가져오는 중: {all} MB 중 {done} MB",
    "boot.starting": "파이썬을 시작하는 중 …",
    "boot.installing": "Onetake를 푸는 중 …",
    "boot.stuck": "‘{doing}’에서 한동안 나아가지 않아요",
    "boot.failed": "목소리를 시작하지 못했어요: {why}. 쓰신 글은 그대로 있어요.",

    "voice": "목소리",
    "voice.pause": "일시 정지 (스페이스)",
    "voice.resume": "계속 듣기 (스페이스)",
    "voice.stop": "멈추기 (Esc)",
    "voice.replay": "이 부분 다시 듣기 (R)",
    "voice.skip": "이 부분 건너뛰기 (→)",
    "voice.regenerate": "대답 다시 쓰기",
    "voice.mute": "소리 끄기 (M)",
    "voice.volume": "음량",
    "voice.hear": "눌러서 듣기",
    "voice.let_go": "그 부분의 소리는 이제 없어요. 대답을 다시 쓰면 다시 들을 수 있어요.",

    "bar.captions": "말하는 내용",
    "bar.pause": "일시 정지",
    "bar.resume": "계속 듣기",
    "bar.stop": "멈추기",
    "bar.replay": "이 부분 다시 듣기",
    "bar.skip": "이 부분 건너뛰기",
    "bar.failed": "목소리를 시작하지 못했어요.",

    "state.booting": "",
    "state.idle": "",
    "state.listening": "쓰는 중 …",
    "state.speaking": "말하는 중",
    "state.paused": "일시 정지",
    "state.blocked": "브라우저가 소리를 막고 있어요. 한 번 눌러 주세요.",
    "state.failed": "대답이 끊겼어요.",
    "state.done": "끝",
    "state.stopped": "멈췄어요",
    "state.reconnecting": "다시 연결하는 중 …",
    "net.offline": "인터넷이 끊겼어요. 받은 부분은 계속 들려요. 연결되면 이어서 쓸게요.",

    "reply": "대답",
    "reply.listen": "소리 내어 읽기",
    "tool.running": "확인 중 …",
    "tool.done": "확인했어요",
    "tool.failed": "실패했어요",
    "unit.failed": "말하지 못했어요: {why}",
    "again": "다시 시도",

    "timeline": "어떻게 말했는지",
    "timeline.part": "부분",
    "timeline.waiting": "기다림",
    "timeline.writing": "쓰기",
    "timeline.first_byte": "첫 바이트",
    "timeline.first_sound": "첫 소리",
    "timeline.playing": "재생",
    "timeline.sound": "소리",
    "timeline.seconds": "{value}초",
    "timeline.floor": "첫 글자까지 {first}초 걸렸고, 그 뒤로 1초에 {speed}자씩 썼어요.",

    "settings": "설정",
    "settings.language": "언어",
    "settings.language.auto": "브라우저와 같게",
    "settings.voice": "말하는 목소리 (다음 메시지부터)",
    "settings.speed": "말하는 빠르기 (다음 부분부터)",
    "settings.sample": "들어 보기",
    "settings.sample.text": "제 목소리는 이래요. 첫 숨부터 마지막 숨까지 한 번에 말해요.",
    "settings.device": "출력 장치",
    "settings.device.usual": "시스템과 같게",
    "settings.device.failed": "이 출력 장치는 쓸 수 없어요. 다른 것을 골라 주세요.",
    "settings.spoken": "대답을 목소리로 듣기",
    "settings.paragraphs": "글로 쓴 대답을 문단마다 소리 내어 읽기",
    "settings.directions": "‘부드럽게’ 같은 목소리 지시 보이기",
    "settings.apart": "화면 낭독기와 목소리가 겹치지 않게 하기",
    "settings.apart.help": "켜면 화면 낭독기는 목소리의 상태만 알려요. 끄면 완성된 대답도 읽어요.",
    "close": "닫기",

    "help": "도움말",
    "help.keys": "단축키",
    "help.space": "일시 정지, 계속 듣기",
    "help.escape": "멈추기",
    "help.replay": "이 부분 다시 듣기",
    "help.arrows": "앞 부분, 다음 부분",
    "help.mute": "소리 끄기",
    "help.slash": "글쓰기",
    "help.help": "이 도움말",
    "help.key.space": "스페이스",
    "help.ink": "들은 말은 진하게, 아직 듣지 않은 말은 연하게 보여요. 숨표는 도구를 쓰느라 목소리가 쉰 곳이에요.",
  },
};

/** By language and key. */
export const TABLE = Object.fromEntries(
  Object.entries(WORDS).map(([language, table]) => [language, { ...table, ...TROUBLE[language] }]),
);

/** The languages of the page. */
export const LANGUAGES = Object.keys(TABLE);

/** The page's language if nobody has chosen one: the first of the browser's that the page knows. */
export const ofBrowser = () =>
  navigator.languages.map((each) => each.slice(0, 2)).find((each) => LANGUAGES.includes(each)) ?? "en";

let language = ofBrowser();

/** The text of that key in one language; "" if there is none. */
export const wordsIn = (language, key, fields = {}) =>
  (TABLE[language][key] ?? "").replace(/\{(\w+)\}/g, (_, name) => fields[name] ?? "");

/** The text of that key in the page's language. */
export const words = (key, fields) => wordsIn(language, key, fields);

/** An element's text becomes the one of that key, and follows the page's language from then on. */
export function label(element, key) {
  element.dataset.words = key;
  element.textContent = words(key);
}

/** An element's accessible name and tooltip become the text of that key, and follow the page's language. */
export function name(element, key) {
  element.dataset.wordsLabel = key;
  element.setAttribute("aria-label", words(key));
  element.title = words(key);
}

/** Shows the page in that language. */
export function useLanguage(code) {
  language = code;
  document.documentElement.lang = code;
  for (const element of document.querySelectorAll("[data-words]")) label(element, element.dataset.words);
  for (const element of document.querySelectorAll("[data-words-label]")) name(element, element.dataset.wordsLabel);
  for (const element of document.querySelectorAll("[data-words-placeholder]")) {
    element.placeholder = words(element.dataset.wordsPlaceholder);
  }
}
