"""One owner for everything that must be given back: proxies, listeners, timers, tasks, fetches, nodes.

    scope = Scope()
    scope.listen(button_js, "click", on_click)
    take = scope.child()
    signal_js = take.abort_controller().signal
    take.dispose()     # aborts, LIFO; `scope` lives on

No other module calls `create_proxy`, `addEventListener`, `setTimeout` or `create_task`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

from onetake.browser.ffi import window

Release = Callable[[], None]


class Scope:
    """Releases what it owns last in, first out.

    Disposing twice is harmless, what is registered after disposal is released at once, and one failing
    release does not keep the others from running (the failures are raised together, afterwards).
    `live` counts what is held, by kind, over the whole tree: `proxy`, `node`, `task`, `timer`, ….
    """

    def __init__(self, parent: Scope | None = None) -> None:
        self.live: Counter[str] = parent.live if parent is not None else Counter()
        self.disposed = False
        self._held: dict[int, tuple[str, Callable[[], object]]] = {}
        self._next = 0
        self._leave_parent: Release = lambda: None
        if parent is not None:
            self._leave_parent = parent.own(self.dispose, "scope")  # which ends this one too if the parent has ended

    def child(self) -> Scope:
        """A scope that ends with this one, or earlier by itself."""
        return Scope(self)

    def own(self, release: Callable[[], object], kind: str) -> Release:
        """Register `release`; returns what releases it now (once)."""
        if self.disposed:
            release()
            return lambda: None
        key = self._next
        self._next += 1
        self._held[key] = (kind, release)
        self.live[kind] += 1

        def release_now() -> None:
            if self._held.pop(key, None) is not None:
                self.live[kind] -= 1
                release()

        return release_now

    def dispose(self) -> None:
        """Release everything, last in first out."""
        if self.disposed:
            return
        self.disposed = True
        self._leave_parent()
        failures: list[Exception] = []
        while self._held:
            kind, release = self._held.popitem()[1]
            self.live[kind] -= 1
            try:
                release()
            except Exception as failure:
                failures.append(failure)
        if failures:
            raise ExceptionGroup("some things could not be released", failures)

    def proxy(self, function: Callable[..., object]) -> Any:
        """`function` as a JS function that may be called any number of times until the scope ends."""
        from pyodide.ffi import create_proxy

        proxy_js = create_proxy(function)
        self.own(proxy_js.destroy, "proxy")
        return proxy_js

    def listen(self, target_js: Any, event: str, function: Callable[[Any], object]) -> None:
        """Call `function(event_js)` at every `event` of `target_js`. What it returns is dropped."""

        def hear(event_js: Any) -> None:
            function(event_js)  # a Task that it returned would become a proxy nobody owns

        proxy_js = self.proxy(hear)
        target_js.addEventListener(event, proxy_js)
        self.own(lambda: target_js.removeEventListener(event, proxy_js), "listener")

    def every(self, interval_ms: float, function: Callable[[], object]) -> None:
        """Call `function` about every `interval_ms` milliseconds; end it with the scope."""
        timer = window().setInterval(self.proxy(function), interval_ms)
        self.own(lambda: window().clearInterval(timer), "timer")

    def after(self, delay_s: float, function: Callable[[], object]) -> None:
        """Call `function` once in about `delay_s` seconds, unless the scope ends before."""
        once = self.child()

        def fire() -> None:
            once.dispose()
            function()

        timer = window().setTimeout(once.proxy(fire), delay_s * 1000)
        once.own(lambda: window().clearTimeout(timer), "timer")

    def abort_controller(self) -> Any:
        """An AbortController that aborts when the scope ends."""
        controller_js = window().AbortController.new()
        self.own(controller_js.abort, "fetch")
        return controller_js

    def spawn(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        """Run `work` as a task that is cancelled with the scope. Its errors go to the event loop's handler."""
        task = asyncio.get_running_loop().create_task(work)
        forget = self.own(task.cancel, "task")

        def done(_: asyncio.Task[object]) -> None:
            forget()
            if not task.cancelled() and (error := task.exception()) is not None:
                # A second done-callback hides the error from Pyodide's own report (pyodide.md 15).
                context = {"message": "a task of Onetake failed", "exception": error, "task": task}
                task.get_loop().call_exception_handler(context)

        task.add_done_callback(done)
        return task

