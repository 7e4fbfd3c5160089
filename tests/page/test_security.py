"""What the page may load and run."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any

import pytest

from tests.page.visit import Visit


def test_the_policy_allows_nothing_from_elsewhere_and_no_inline_script(server: Any) -> None:
    with urllib.request.urlopen(server.url) as response:
        policy = response.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe-inline" not in policy
    assert "'unsafe-eval'" not in policy


def test_the_page_boots_under_its_own_policy(server: Any, browser: Any) -> None:
    browser.before_page(
        "window.violations = []; addEventListener('securitypolicyviolation', (e) => violations.push(e.blockedURI));"
    )
    visit = Visit(browser, server.url, tap=False)
    visit.until_ready()
    assert visit.inspect()["state"] == "idle"
    assert browser.driver.execute_script("return window.violations") == []
    assert browser.foreign_requests(server.url) == []


def test_a_foreign_host_name_is_refused(server: Any) -> None:
    request = urllib.request.Request(server.url + "health", headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == 400
