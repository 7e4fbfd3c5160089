"""The page's way to a reply over a connection that breaks, is silent or cannot be made: nothing is lost or told twice.

The server here is a script: what each request to it gets. Limits of time are short.
"""

from __future__ import annotations

from pytest_pyodide import run_in_pyodide

from onetake.streams import Delta, Failed, Final, Start


def event(number, name, **fields):
    payload = {"generation": 1, **fields}
    return f"event: {name}\ndata: {payload}\nid: {number}\n\n".replace("'", '"')


START = event(1, "start", reply="the-reply", conversation="talk")
ONE, TWO = event(2, "delta", text="One. "), event(3, "delta", text="Two.")
FINAL = event(4, "final", length=9)
WHOLE = [repr(each) for each in (Start("the-reply", "talk", 1), Delta("One. "), Delta("Two."), Final())]


@run_in_pyodide
async def read(selenium, script, *, silent_s=40.0, give_up_s=30.0, resumes=False):
    """What the page was told, what it asked for, what it said of the connection, and how many bodies it let go.

    `script` has a list for each request: pieces of the body, a number being a pause in seconds and None the end of
    all that comes although the connection stays. An empty list is no answer at all.
    """
    import json

    import js
    from pyodide.ffi import to_js

    from onetake.browser import link, replies
    from onetake.browser.scope import Scope

    server = js.Function.new("script", """
        const asked = [], real = self.fetch, letGo = [];
        const wait = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
        self.fetch = async (url, { method, headers, body, signal }) => {
            const pieces = script[asked.length] ?? [];
            asked.push([method, url, headers["last-event-id"] ?? null, body ?? null]);
            if (!pieces.length) throw new TypeError("network error");
            const stream = new ReadableStream({
                start: (controller) => signal.addEventListener("abort", () => {
                    letGo.push(url);
                    try { controller.error(signal.reason); } catch {}
                }),
                async pull(controller) {
                    const piece = pieces.shift();
                    if (piece === undefined) return controller.close();
                    if (piece === null) return new Promise(() => {});
                    if (typeof piece !== "number") return controller.enqueue(new TextEncoder().encode(piece));
                    await wait(piece);
                    if (!signal.aborted) await this.pull(controller);
                },
            });
            return new Response(stream, { headers: { location: "/replies/the-reply" } });
        };
        return { asked, letGo, close() { self.fetch = real; } };
    """)(to_js(script))  # fmt: skip
    usual = replies.SILENT_S, link.GIVE_UP_S, link.SAY_S
    replies.SILENT_S, link.GIVE_UP_S, link.SAY_S = silent_s, give_up_s, 0
    told, links, scope = [], [], Scope()
    try:
        stream = replies.ReplyStream(scope, "/", lambda event: told.append(repr(event)), links.append)
        await stream.begin("Hi", None)
        if resumes:
            await stream.resume()
        return told, json.loads(js.JSON.stringify(server.asked)), links, len(server.letGo)
    finally:
        replies.SILENT_S, link.GIVE_UP_S, link.SAY_S = usual
        scope.dispose()
        server.close()


def test_a_connection_that_is_silent_is_given_up_and_made_again_from_the_last_event(selenium):
    told, asked, links, let_go = read(selenium, [[START, ONE, None], [TWO, FINAL]], silent_s=0.3)
    assert told == WHOLE
    assert [(method, url, after) for method, url, after, _ in asked] == [
        ("POST", "/replies", None),
        ("GET", "/replies/the-reply/events", "2"),
    ]
    assert let_go >= 1
    assert links[-2:] == ["reconnecting", "live"]


def test_a_connection_on_which_only_comments_come_is_alive(selenium):
    pings = [": ping\n\n", 0.1] * 15
    told, asked, _, _ = read(selenium, [[START, ONE, *pings, TWO, FINAL]], silent_s=1.0)
    assert told == WHOLE
    assert len(asked) == 1


def test_a_message_without_an_answer_is_sent_again_as_the_same(selenium):
    told, asked, links, _ = read(selenium, [[], [], [START, ONE, TWO, FINAL]])
    assert told == WHOLE
    assert [method for method, *_ in asked] == ["POST"] * 3
    assert len({body for *_, body in asked}) == 1
    assert '"id": "' in asked[0][3]
    assert links == ["reconnecting", "live"]


def test_a_message_that_stays_without_an_answer_is_said_to_and_can_be_sent_again_as_the_same(selenium):
    told, asked, links, _ = read(selenium, [[], [START, ONE, TWO, FINAL]], give_up_s=0, resumes=True)
    unreachable = repr(Failed("server_unreachable", "The server has not answered for 30 seconds.", retryable=True))
    assert told == [unreachable, *WHOLE]
    assert len({body for *_, body in asked}) == 1
    assert links.count("reconnecting") == links.count("live")


def test_a_connection_that_is_given_up_is_said_to_be_and_can_be_sought_again(selenium):
    script = [[START, ONE], [], [TWO, FINAL]]
    told, asked, _, _ = read(selenium, script, give_up_s=0, resumes=True)  # after one attempt
    assert [each.partition("(")[0] for each in told] == ["Start", "Delta", "Failed", "Delta", "Final"]
    assert "connection_lost" in told[2]
    assert [after for _, _, after, _ in asked] == [None, "2", "2"]
