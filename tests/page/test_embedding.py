"""The voice in other people's pages: from another origin, under their policies, several at once, leaving no trace."""

from __future__ import annotations

import hashlib
import json
import re
import textwrap
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.npm import node, npm_packages
from tests.page.embedding.host import File, Site, host, page, script
from tests.page.embedding.visiting import Page, tap_file
from tests.page.recording import decode
from tests.page.visit import PATIENCE_S

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TYPES = ROOT / "web" / "onetake.d.ts"

# The strict page's own script: its first voice is given a reply before it can speak.
STRICT = """
import { createVoice } from "SERVERonetake.js";
Object.assign(window, { createVoice, told: [], voices: [] });
window.made = (name, options) => {
  const voice = createVoice(options);
  voices.push(voice);
  for (const type of ["unit", "heard", "state", "emotion", "reset", "error"]) {
    voice.addEventListener(type, ({ detail }) => told.push([name, type, detail]));
  }
  return voice;
};
window.first = made("first");
window.booting = first.inspect();
first.delta("Wait. \\ud83d");
first.delta("\\ude00 ");
first.unitEnd(8);
first.delta("Here is the second part. [emotion:warm]");
first.final();
"""
REPLY = "Wait. 😀 Here is the second part. [emotion:warm]"


def strict_policy(server: str) -> str:
    """As the README gives it, and nothing else."""
    return (
        f"default-src 'none'; script-src 'self' {server} 'wasm-unsafe-eval'; connect-src 'self' {server}; "
        "base-uri 'none'; form-action 'none'"
    )


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """Somebody else's site."""
    with host({"/tap.js": tap_file()}) as site:
        yield site


@pytest.fixture(scope="module")
def allowing(run_server: Any, site: Site) -> Iterator[Any]:
    """A server that allows the site's pages."""
    with run_server("--allow-origin", site.origin) as server:
        yield server


@pytest.fixture(scope="module")
def visitor(open_browser: Any) -> Iterator[Any]:
    """The browser of a visitor of the site; audio needs a gesture."""
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def strict_page(site: Site, allowing: Any, visitor: Any) -> Page:
    """The page with the strictest policy, once its first reply is spoken: the browser held it back until a click."""
    site.files["/strict.js"] = script(STRICT.replace("SERVER", allowing.url))
    site.files["/strict"] = page("<body>Host<script type=module src=strict.js></script>", strict_policy(allowing.url))
    strict = Page(visitor, f"{site.url}strict")
    strict.run("await first.ready")
    strict.until("first.state === 'blocked'")
    strict.click()
    strict.until("first.state === 'idle' && first.inspect().final")
    return strict


@pytest.fixture
def strict(strict_page: Page) -> Page:
    return strict_page.to_front()


def code_path(server: Any) -> str:
    """Where, below a server's address, its web/ is."""
    with urllib.request.urlopen(f"{server.url}health") as response:
        path: str = json.load(response)["web"]
    return path


# -- one voice -----------------------------------------------------------------------------------------------


def readme_lines() -> str:
    """The page that the README gives to those who have one of their own."""
    (lines,) = re.findall(r"```html\n(.*?onetake\.js.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    return lines


def test_the_readmes_lines_as_they_stand_give_a_page_a_voice(site: Site, allowing: Any, visitor: Any) -> None:
    site.files["/"] = page(readme_lines().replace("http://127.0.0.1:8600/", allowing.url))
    # The browser has its files from the server's own page, where they came without leave for others.
    visitor.driver.get(f"{allowing.url}{code_path(allowing)}onetake.js")
    visit = Page(visitor, site.url)
    visit.driver.find_element(By.NAME, "text").send_keys("Good morning.\n")
    voice = "document.querySelector('onetake-voice').voice"
    visit.run(f"await {voice}.ready")
    visit.until(f"{voice}.state === 'idle' && {voice}.inspect().final")
    assert visit.heard_share(site.reply) > 0.8
    assert visit.value(f"{voice}.heard") == len(site.reply) + 1
    shadow = visit.driver.find_element(By.TAG_NAME, "onetake-voice").shadow_root
    assert shadow.find_element(By.CSS_SELECTOR, ".captions").text == site.reply
    assert shadow.find_element(By.CSS_SELECTOR, "[role=status]").text == "Done"


def test_what_is_said_before_python_is_there_is_spoken_under_the_strictest_policy(strict: Page) -> None:
    assert strict.heard_share("wait here is the second part") > 0.8
    units = strict.value("first.inspect().units")
    assert [(unit["text"], unit["start"], unit["end"]) for unit in units] == [
        ("Wait. 😀", 0, 8),
        ("Here is the second part.", 8, len(REPLY)),
    ]
    assert strict.value("first.heard") == len(REPLY)
    assert strict.value("violations") == []


def test_what_happens_is_told_as_events(strict: Page) -> None:
    told = strict.value("told.filter(([name]) => name === 'first').map(([, ...rest]) => rest)")
    states = [detail["state"] for kind, detail in told if kind == "state"]
    assert states[0] == "idle"
    assert states[-4:] == ["speaking", "listening", "speaking", "idle"]
    assert "blocked" in states
    assert next(detail for kind, detail in told if kind == "reset") == {"at": 0, "generation": 1}
    heard = [detail["at"] for kind, detail in told if kind == "heard"]
    assert heard == sorted(heard)
    assert heard[-1] == len(REPLY)
    assert [detail["emotion"] for kind, detail in told if kind == "emotion"] == ["warm"]
    of_second = [detail for kind, detail in told if kind == "unit" and detail["index"] == 1]
    assert [detail["state"] for detail in of_second] == ["queued", "synthesising", "playing", "done"]
    assert of_second[0]["pieces"] == [{"kind": "text", "text": "Here is the second part.", "start": 8}]


def test_what_the_page_reads_is_spoken_and_a_stop_closes_its_connection(strict: Page, site: Site) -> None:
    site.left.clear()
    outcome = strict.run(
        """
        const voice = window.reader = made("reader");
        window.reading = voice.read(await fetch("/endless", { method: "POST", body: "" }), { protocol: "openai-chat" });
        """
    )
    assert outcome is None
    strict.until("reader.inspect().length > 8")
    assert strict.run("reader.stop(); return reading") == {"ended": True, "awaiting": False, "lastEventId": None}
    assert site.left.wait(PATIENCE_S)
    outcome = strict.run(
        "return reader.read(await fetch('/chat', { method: 'POST', body: '' }), { protocol: 'openai-chat' })"
    )
    assert outcome == {"ended": True, "awaiting": False, "lastEventId": None}
    assert strict.value("reader.inspect().units[0].text") == site.reply


def test_responses_of_one_turn_are_one_reply(strict: Page) -> None:
    calls = {"tool_calls": [{"index": 0, "id": "1", "function": {"name": "look", "arguments": "{}"}}]}
    parts = [
        [{"delta": {"content": "One moment. "}}, {"delta": calls}, {"delta": {}, "finish_reason": "tool_calls"}],
        [{"delta": {"content": "Here."}}, {"delta": {}, "finish_reason": "stop"}],
    ]
    bodies = ["".join(f"data: {json.dumps({'choices': [choice]})}\n\n" for choice in part) for part in parts]
    outcomes = strict.run(
        f"""
        const voice = window.turn = made("turn");
        const outcomes = [];
        for (const body of {json.dumps(bodies)}) {{
          outcomes.push(await voice.read(new Response(body), {{ protocol: "openai-chat" }}));
        }}
        return outcomes;
        """
    )
    assert [(outcome["ended"], outcome["awaiting"]) for outcome in outcomes] == [(False, True), (True, False)]
    units = strict.value("turn.inspect().units")
    assert [(unit["generation"], unit["text"]) for unit in units] == [(1, "One moment."), (1, "Here.")]


def test_any_speech_server_can_speak_and_is_shown_the_token(strict: Page, site: Site) -> None:
    site.authorizations.clear()
    strict.run(
        """
        const voice = window.plain = made("plain", { speech: "/speech", token: "secret" });
        voice.delta("Said by the page's own server.");
        voice.final();
        """
    )
    strict.until("plain.state === 'idle' && plain.inspect().final")
    assert strict.value("plain.inspect().units.map((unit) => [unit.state, unit.frames_played])") == [["done", 2400]]
    shown = {path: site.authorizations[path] for path in ("/health", "/voices", "/speech")}
    assert set(shown.values()) == {"Bearer secret"}


# -- several -------------------------------------------------------------------------------------------------


def test_of_two_voices_in_a_page_one_stops_and_the_other_goes_on(strict: Page) -> None:
    strict.run(
        """
        window.second = made("second");
        first.begin();
        for (const voice of [first, second]) {
          voice.delta("It goes on and on, as long as it is let.");
          voice.final();
        }
        """
    )
    strict.until("first.heard > 4 && second.heard > 4")
    strict.run("first.stop(); window.stopped = first.heard;")
    assert strict.value("navigator.mediaSession.metadata?.title") == "Host"
    strict.until("second.state === 'idle' && second.inspect().final")
    seen = strict.value("[stopped, first.heard, second.heard, second.inspect().length]")
    assert seen[0] == seen[1] < seen[3]
    assert seen[2] == seen[3]
    assert strict.value("contexts.length") == 1
    assert strict.value("navigator.mediaSession.metadata") is None


def test_a_volume_is_one_voices_own(strict: Page) -> None:
    """What its page hears of a silent voice is nothing, and of another one everything."""
    strict.run(
        """
        window.silent = made("silent");
        silent.setVolume(0);
        silent.delta("Nobody hears this.");
        silent.final();
        """
    )
    strict.until("silent.heard > 4")
    (start_s, end_s) = (
        strict.value("sound.context.currentTime"),
        strict.until("silent.state === 'idle' && silent.inspect().final && sound.context.currentTime"),
    )
    recording = decode(strict.value("sound.read()")).between(start_s, end_s)
    assert recording.seconds > 0.2
    assert recording.audible_s() == []


# -- what is wrong -------------------------------------------------------------------------------------------

MISUSES = {
    "first.delta(5)": ("TypeError", "delta(5): the text must be a string"),
    "first.delta('more')": ("RangeError", "begin() begins the next one"),
    "first.unitEnd('3')": ("TypeError", 'unitEnd("3")'),
    "first.unitEnd(-1)": ("RangeError", "from 0 on"),
    "first.reset(10000)": ("RangeError", "reset at one of them, or at 0"),
    "first.replay(99)": ("RangeError", "no unit 99"),
    "first.setVolume('1')": ("TypeError", "pass a number"),
    "first.setVolume(2)": ("RangeError", "from 0 (silent) to 1"),
    "first.setSpeed(90)": ("RangeError", "this voice speaks at"),
    "first.setOutputDevice('nowhere')": ("RangeError", "enumerateDevices"),
    "first.read(fetch('/strict'), {protocol: 'onetake'})": ("TypeError", "await fetch"),
    "first.read('text', {protocol: 'onetake'})": ("TypeError", "pass the Response of a fetch"),
    "first.read(new Response(''))": ("TypeError", "name what the body speaks"),
    "first.read(new Response(''), {protocol: 'smoke'})": ("RangeError", "use one of onetake"),
    "createVoice({speach: '/speech'})": ("TypeError", "there is: speech, voice, token"),
    "createVoice({speech: 'mailto:a@b.example'})": ("TypeError", "the address of a POST /speech"),
    "createVoice({voice: 3})": ("TypeError", "voice is 3, but must be a string"),
}


@pytest.mark.parametrize("call", MISUSES)
def test_misuse_is_told_with_value_rule_and_next_step(strict: Page, call: str) -> None:
    kind, said = MISUSES[call]
    thrown = strict.run(f"try {{ await {call} }} catch (error) {{ return [error.name, error.message] }}")
    assert thrown[0] == kind
    assert said in thrown[1]


def test_misuse_that_shows_only_once_the_voice_is_there_is_told_by_an_event(strict: Page) -> None:
    detail = strict.run(
        """
        const voice = made("early");
        voice.replay(7);
        return new Promise((resolve) => voice.addEventListener("error", (event) => resolve(event.detail)));
        """
    )
    assert (detail["code"], detail["unit"]) == ("misuse", None)
    assert "no unit 7" in detail["message"]


def test_an_error_goes_to_the_console_unless_the_page_takes_it(strict: Page) -> None:
    strict.run(
        """
        const taken = made("taken", { voice: "taken" });
        taken.addEventListener("error", (event) => event.preventDefault());
        await Promise.allSettled([taken.ready, made("left", { voice: "left" }).ready]);
        """
    )
    said = "".join(strict.browser.console_errors())
    assert "“left”" in said
    assert "“taken”" not in said


def test_a_voice_that_is_disposed_of_before_it_can_speak_never_does(strict: Page) -> None:
    read, units = strict.run(
        """
        const voice = made("short");
        const reading = voice.read(new Response("data: {}"), { protocol: "openai-chat" });
        voice.dispose();
        await voice.ready;
        return [await reading, voice.inspect().units];
        """
    )
    assert (read["ended"], units) == (True, [])


def test_a_voice_that_there_is_not_is_an_error_that_lists_those_there_are(strict: Page) -> None:
    told = strict.run(
        """
        const voice = made("nobody", { voice: "nobody" });
        const event = new Promise((resolve) => voice.addEventListener("error", resolve));
        const failed = await voice.ready.catch((error) => error.message);
        return [failed, (await event).detail, voice.state];
        """
    )
    assert told[1]["code"] == "unknown_voice"
    assert told[0] == told[1]["message"]
    assert "local" in told[0]
    assert told[2] == "failed"


def test_a_speech_server_that_does_not_allow_the_page_is_an_error_that_says_how(strict: Page, site: Site) -> None:
    with host({}) as stranger:
        refused = f"made('refused', {{ speech: '{stranger.url}speech' }}).ready.catch((error) => error.message)"
        assert f"--allow-origin {site.origin}" in strict.run(f"return {refused}")


def test_a_page_that_is_not_allowed_gets_no_code_and_the_server_says_why(allowing: Any, visitor: Any) -> None:
    with host({"/": page("<body>")}) as stranger:
        visit = Page(visitor, stranger.url)
        assert "error" in visit.run(f"return import('{allowing.url}onetake.js').catch((error) => `error: ${{error}}`)")
        request = urllib.request.Request(f"{allowing.url}onetake.js", headers={"origin": stranger.origin})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == 403
        assert f"--allow-origin {stranger.origin}" in json.load(refused.value)["error"]["message"]


# -- types ---------------------------------------------------------------------------------------------------

OPTIONS = {
    "strict": True,
    "exactOptionalPropertyTypes": True,
    "noEmit": True,
    "target": "es2024",
    "module": "esnext",
    "moduleResolution": "bundler",
    "lib": ["es2024", "dom", "dom.iterable"],
    "types": [],
    "paths": {"http://127.0.0.1:8600/onetake.js": [str(TYPES)]},
}
OF_PAGE = """
import { createVoice } from "http://127.0.0.1:8600/onetake.js";
import type { Snapshot, Voice, VoiceEvents } from "http://127.0.0.1:8600/onetake.js";
type Own<All> = { [Name in Exclude<keyof All, keyof EventTarget>]: true };
export const members: Own<Voice> = MEMBERS;
export const events: { [Name in keyof VoiceEvents]?: VoiceEvents[Name][] } = EVENTS;
export const snapshots: Snapshot[] = SNAPSHOTS;
"""


def compiled(directory: Path, *files: str) -> str:
    """What the TypeScript compiler has to say of these files; "" if nothing."""
    config = directory / "tsconfig.json"
    config.write_text(json.dumps({"compilerOptions": OPTIONS, "files": files}), encoding="utf-8")
    tsc = npm_packages() / "typescript" / "bin" / "tsc"
    return node([str(tsc), "--project", str(config)], cwd=directory).stdout


def test_the_types_take_what_a_page_may_write_and_nothing_else(tmp_path: Path) -> None:
    assert compiled(tmp_path, str(Path(__file__).parent / "embedding" / "usage.ts")) == ""


def test_the_types_tell_every_member_event_and_field_that_there_is_and_no_other(strict: Page, tmp_path: Path) -> None:
    members, events, snapshots = strict.run(
        """
        const voice = made("typed");
        const prototype = Object.getPrototypeOf(voice);
        const names = [...Object.getOwnPropertyNames(prototype), ...Object.getOwnPropertyNames(voice)];
        const members = Object.fromEntries(names.filter((name) => name !== "constructor").map((name) => [name, true]));
        await made("odd", { voice: "nobody" }).ready.catch(() => {}); // which tells an error
        const events = Object.groupBy(told, ([, type]) => type);
        for (const type in events) events[type] = events[type].map(([, , detail]) => detail);
        await voice.ready;
        const spoken = first.inspect();
        voice.dispose();
        return [members, events, [booting, spoken, voice.inspect(), first.inspect({ anonymous: true })]];
        """
    )
    assert set(events) == {"unit", "heard", "state", "emotion", "reset", "error"}
    code = OF_PAGE.replace("MEMBERS", json.dumps(members)).replace("EVENTS", json.dumps(events))
    (tmp_path / "page.ts").write_text(code.replace("SNAPSHOTS", json.dumps(snapshots)), encoding="utf-8")
    assert compiled(tmp_path, "page.ts") == ""


# -- the element ---------------------------------------------------------------------------------------------


@pytest.fixture
def korean(strict: Page) -> Iterator[Any]:
    """The shadow root of a Korean element, ready, with nothing said yet."""
    strict.run(
        """
        const element = window.korean = document.createElement("onetake-voice");
        element.lang = "ko";
        document.body.append(element);
        await element.voice.ready;
        """
    )
    yield strict.driver.find_element(By.TAG_NAME, "onetake-voice").shadow_root
    strict.run("korean.remove(); await null;")


def test_every_control_of_the_element_has_a_name_and_is_reached_by_tab(strict: Page, korean: Any) -> None:
    strict.run("korean.voice.delta('It goes on and on, as long as it is let. '.repeat(9)); korean.voice.final();")
    strict.until("korean.voice.state === 'speaking'")
    reached = []
    strict.run("korean.previousElementSibling?.focus?.(); document.activeElement.blur();")
    for _ in range(6):
        strict.driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.append(strict.value("korean.shadowRoot.activeElement?.ariaLabel"))
    assert reached == ["말하는 내용", "이 부분 다시 듣기", "일시 정지", "이 부분 건너뛰기", "멈추기", "음량"]
    assert korean.find_element(By.CSS_SELECTOR, "[role=status]").text == "말하는 중"
    strict.run("korean.voice.stop()")


def test_the_elements_buttons_steer_its_voice(strict: Page, korean: Any) -> None:
    strict.run("korean.voice.delta('It goes on and on, as long as it is let.'); korean.voice.final();")
    strict.until("korean.voice.heard > 3")
    pause = korean.find_element(By.CSS_SELECTOR, ".pause")
    pause.click()
    assert strict.until("korean.voice.state") == "paused"
    assert pause.accessible_name == "계속 듣기"
    pause.send_keys(Keys.SPACE)
    strict.until("korean.voice.state === 'speaking'")
    korean.find_element(By.CSS_SELECTOR, ".stop").click()
    assert strict.value("korean.voice.state") == "idle"
    assert korean.find_element(By.CSS_SELECTOR, "[role=status]").text == "멈췄어요"
    assert strict.value("korean.voice.heard < korean.voice.inspect().length")


def test_the_element_shows_unheard_words_in_lighter_ink_and_follows_a_reset(strict: Page, korean: Any) -> None:
    shown = "[...korean.shadowRoot.querySelectorAll('.said')].map((each) => each.textContent)"
    light = "[...CSS.highlights.get('unheard')].map((each) => `${each.startOffset}-${each.endOffset}`)"
    strict.run("korean.voice.delta('[softly] One. Two'); korean.voice.unitEnd(13); korean.voice.delta(' three.');")
    strict.run("korean.voice.pause(); korean.voice.unitEnd(24);")
    assert strict.value(shown) == ["softly One.", "Two three."]
    assert strict.value(light)
    strict.run("korean.voice.reset(13);")
    assert strict.value(shown) == ["softly One."]
    strict.run("korean.voice.begin();")
    assert strict.value(shown) == []
    assert strict.value(light) == []


def test_the_element_offers_to_be_tapped_while_the_browser_holds_the_sound_back(strict: Page, korean: Any) -> None:
    tell = "korean.voice.dispatchEvent(new CustomEvent('state', { detail: { state: 'STATE', stopped: false } }))"
    hear = korean.find_element(By.CSS_SELECTOR, ".hear")
    assert not hear.is_displayed()
    strict.run(tell.replace("STATE", "blocked"))
    assert hear.is_displayed()
    assert hear.text == "눌러서 듣기"


AXE = """
const { violations } = await axe.run(korean, { resultTypes: ["violations"] });
return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
"""


def test_axe_finds_nothing_in_the_element(strict: Page, korean: Any) -> None:
    strict.run("korean.voice.delta('[softly] One. Two.'); korean.voice.final();")
    axe = (npm_packages() / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    strict.driver.execute_script(f"{axe};window.axe = axe;")
    for scheme in ("light", "dark"):
        strict.run(f"document.documentElement.style.colorScheme = '{scheme}';")
        assert strict.run(AXE) == []


def test_an_element_that_is_moved_keeps_its_voice_and_one_that_is_removed_disposes_of_it(strict: Page) -> None:
    kept, removed = strict.run(
        """
        const element = document.createElement("onetake-voice");
        document.body.append(element);
        const { voice } = element;
        const box = document.body.appendChild(document.createElement("div"));
        box.append(element);
        await null;
        const kept = element.voice === voice && Boolean(element.shadowRoot.querySelector(".bar"));
        await voice.ready;
        box.remove();
        await null;
        voice.delta("Nobody is there to say this.");
        return [kept, [element.voice, element.shadowRoot.childElementCount, voice.inspect().length]];
        """
    )
    assert kept
    assert removed == [None, 0, 0]


# -- the end -------------------------------------------------------------------------------------------------


def held(page: Page) -> dict[str, Any]:
    """What the page and the browser hold for voices once the garbage is collected."""
    page.run("window.pyodide.runPython('import gc; gc.collect()');")
    page.driver.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
    page.driver.execute_cdp_cmd("Performance.enable", {})
    metrics = page.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    found = {each["name"]: each["value"] for each in metrics if each["name"] in ("AudioHandlers", "JSEventListeners")}
    found["proxies"] = page.value("window.pyodide._module.pyproxy_alloc_map.size")
    found["timers"] = page.value("timers.size")
    return found


def requests_under_way(browser: Any) -> list[str]:
    begun = {each["requestId"]: each["request"]["url"] for each in browser.events("Network.requestWillBeSent")}
    for end in ("Network.loadingFinished", "Network.loadingFailed"):
        for each in browser.events(end):
            begun.pop(each["requestId"], None)
    return list(begun.values())


def test_a_voice_that_is_disposed_of_leaves_nothing_and_the_last_one_no_audio_context(
    strict: Page, site: Site, allowing: Any
) -> None:
    strict.run(
        f"""
        const {{ sharedRuntime }} = await import("{allowing.url}{code_path(allowing)}shared.mjs");
        window.pyodide = await sharedRuntime();
        pyodide._module.enable_pyproxy_allocation_tracing();
        for (const voice of voices) voice.dispose();
        voices.length = 0;
        untap();
        """
    )
    seen = []
    for _ in range(3):
        strict.until("contexts.every((each) => each.state === 'closed')")
        strict.run("contexts.length = 0;")
        seen.append(held(strict))
        if len(seen) == 3:
            break
        site.left.clear()
        strict.run(
            """
            const voice = window.last = made("last");
            const other = made("other");
            await voice.ready;
            voice.delta("It goes on and on, as long as it is let.");
            voice.unitEnd(40);
            other.read(await fetch("/endless", { method: "POST", body: "" }), { protocol: "openai-chat" });
            """
        )
        strict.until("last.heard > 4 && voices.at(-1).inspect().length > 8")
        assert held(strict) != seen[-1]
        told = strict.run("for (const voice of voices) voice.dispose(); await null; return told.length;")
        assert site.left.wait(PATIENCE_S)
        counts = strict.value("last.inspect().counts")
        assert {name: count for name, count in counts.items() if name.startswith("live_") and count} == {}
        assert strict.run("last.delta('more'); last.dispose(); return told.length;") == told
        strict.run("window.last = null; voices.length = 0;")
    assert seen[1] == seen[2]
    assert seen[1]["proxies"] == seen[0]["proxies"]
    assert requests_under_way(strict.browser) == []


# -- from Python ---------------------------------------------------------------------------------------------

BARE = """
<body>Host
<script type="module">
  import { loadPyodide } from "/pyodide/pyodide.mjs";
  window.pyodide = await loadPyodide({ packageBaseUrl: new URL("/pyodide/", location).href });
  await pyodide.loadPackage("micropip");
  await pyodide.runPythonAsync('import micropip; micropip.set_index_urls("INDEX")');
  window.bare = true;
</script>
"""


@pytest.fixture(scope="module")
def bare_page(built_wheel: Path, installed: Any, site: Site, allowing: Any, visitor: Any) -> Page:
    """A page whose own code is Python in Pyodide, and which knows of us only what an index of packages says."""
    wheel = built_wheel.read_bytes()
    entry = {
        "filename": built_wheel.name,
        "url": f"{site.url}{built_wheel.name}",
        "hashes": {"sha256": hashlib.sha256(wheel).hexdigest()},
    }
    index = {"meta": {"api-version": "1.0"}, "name": "onetake", "files": [entry]}
    site.files["/simple/onetake/"] = File(json.dumps(index).encode(), "application/vnd.pypi.simple.v1+json")
    site.files[f"/{built_wheel.name}"] = File(wheel, "application/octet-stream")
    site.directories["/pyodide/"] = installed.page / "web" / "vendor" / "pyodide"
    allowed = f"'self' {allowing.url}"
    policy = f"script-src {allowed} 'unsafe-inline' 'wasm-unsafe-eval'; connect-src {allowed}"
    site.files["/bare"] = page(BARE.replace("INDEX", f"{site.url}simple/{{package_name}}/"), policy)
    bare = Page(visitor, f"{site.url}bare")
    bare.click()
    bare.until("window.bare")
    python(bare, f"SERVER = {allowing.url!r}")
    return bare


@pytest.fixture
def bare(bare_page: Page) -> Page:
    return bare_page.to_front()


INSTALLED = """
import asyncio, json, micropip
await micropip.install("onetake")
from onetake.browser import create_voice
"""


def python(page: Page, code: str) -> Any:
    """Run Python at the top level of the page; the value of its last expression."""
    return page.run(f"return pyodide.runPythonAsync({json.dumps(textwrap.dedent(code))})")


def test_the_readmes_python_as_it_stands_gives_a_page_a_voice(bare: Page, site: Site, allowing: Any) -> None:
    (lines,) = re.findall(r"```python\n(import micropip.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    python(bare, lines.replace("http://127.0.0.1:8600/", allowing.url))
    python(
        bare,
        """
        import asyncio
        silent = asyncio.Event()
        voice.on("state", lambda event: event["state"] == "idle" and silent.set())
        if voice.state != "idle":
            await silent.wait()
        """,
    )
    assert bare.heard_share(site.reply) > 0.8
    assert python(bare, "voice.heard == voice.inspect()['length'] == len(voice.inspect()['units'][0]['text']) + 1")
    python(bare, "voice.dispose()")
    assert bare.value("violations") == []


def test_a_voice_that_python_disposes_of_leaves_nothing_and_tells_nothing(bare: Page) -> None:
    python(bare, INSTALLED)
    left = python(
        bare,
        """
        from js import pyodide as pyodide_of_page
        told = []
        pyodide_of_page._module.enable_pyproxy_allocation_tracing()
        voice = await create_voice(SERVER)
        voice.on("state", told.append)
        voice.on("unit", lambda event: 1 / 0)   # keeps nobody from speaking
        voice.delta("It goes on and on, as long as it is let.")
        voice.final()
        while voice.heard < 4:
            await asyncio.sleep(0.02)
        before = len(told)
        voice.dispose()
        voice.delta("more")
        live = {name: count for name, count in voice.inspect()["counts"].items() if name.startswith("live_") and count}
        json.dumps([live, len(told) - before, pyodide_of_page._module.pyproxy_alloc_map.size])
        """,
    )
    assert json.loads(left) == [{}, 0, 0]
    bare.until("contexts.length && contexts.every((each) => each.state === 'closed')")


def test_python_is_told_what_is_wrong_with_the_server(bare: Page) -> None:
    python(bare, INSTALLED)
    said = python(
        bare,
        """
        async def failure(**options):
            try:
                await create_voice(SERVER, **options)
            except Exception as error:
                return [type(error).__name__, getattr(error, "code", None), str(error)]

        json.dumps([await failure(voice="nobody"), await failure(speech=SERVER.replace("127.0.0.1", "127.0.0.2"))])
        """,
    )
    nobody, unreachable = json.loads(said)
    assert nobody[:2] == ["VoiceUnavailable", "unknown_voice"]
    assert "local" in nobody[2]
    assert unreachable[:2] == ["VoiceUnavailable", "server_unreachable"]
    assert "--allow-origin" in unreachable[2]
