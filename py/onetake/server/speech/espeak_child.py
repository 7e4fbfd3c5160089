"""The process in which espeak-ng runs: reads one order on stdin, writes the sound to stdout as it is made.

A program of its own, started by `onetake.server.speech.espeak_voice`, never imported: espeak-ng is GPL-3.0
and stays out of the server's process, and a crash of it is this process's end only. Standard library only.

stdin: a JSON object {library, data, voice, rate, text} up to its end. stdout: frames, each a 4-byte
little-endian length and as many bytes: first the sample rate as decimal text, then blocks of s16le mono, last
an empty frame, which tells a whole take from a broken one. Exit status 1: the reason is the last line on
stderr.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys

# From speak_lib.h of espeak-ng 1.52.
AUDIO_OUTPUT_SYNCHRONOUS = 2
INITIALIZE_DONT_EXIT = 0x8000
RATE = 1
POS_CHARACTER = 1
CHARS_UTF8 = 1
OK = 0

BLOCK_MS = 100


def main() -> None:
    order = json.load(sys.stdin.buffer)
    # The library may print; what it prints must not get between the frames.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    def send(frame: bytes) -> None:
        out.write(struct.pack("<I", len(frame)) + frame)

    espeak = ctypes.CDLL(order["library"])
    sample_rate = espeak.espeak_Initialize(
        AUDIO_OUTPUT_SYNCHRONOUS, BLOCK_MS, order["data"].encode(), INITIALIZE_DONT_EXIT
    )
    if sample_rate <= 0:
        sys.exit(f"espeak-ng finds no data at {order['data']}")
    if espeak.espeak_SetVoiceByName(order["voice"].encode()) != OK:
        sys.exit(f"espeak-ng has no voice {order['voice']!r}")
    espeak.espeak_SetParameter(RATE, order["rate"], 0)

    def on_samples(samples: int | None, count: int, _events: int | None) -> int:
        if samples and count > 0:
            try:
                send(ctypes.string_at(samples, 2 * count))
            except OSError:
                return 1  # nobody listens any more: stop
        return 0

    send(str(sample_rate).encode())
    callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(on_samples)
    espeak.espeak_SetSynthCallback(callback)
    text = order["text"].encode(errors="replace") + b"\0"
    if espeak.espeak_Synth(text, len(text), 0, POS_CHARACTER, 0, CHARS_UTF8, None, None) != OK:
        sys.exit("espeak-ng refused the text")
    send(b"")


if __name__ == "__main__":
    main()
