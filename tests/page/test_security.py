"""What the page may load and run. That it boots under this policy is in test_boot.py."""

from __future__ import annotations

import urllib.error
import urllib.request
from typing import Any

import pytest


def test_the_policy_allows_nothing_from_elsewhere_and_no_inline_script(server: Any) -> None:
    with urllib.request.urlopen(server.url) as response:
        policy = response.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe-inline" not in policy
    assert "'unsafe-eval'" not in policy


def test_a_foreign_host_name_is_refused(server: Any) -> None:
    request = urllib.request.Request(server.url + "health", headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    assert refused.value.code == 400
