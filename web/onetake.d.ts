// Types of onetake.js: one continuous voice for the streaming replies of your page.
//
// Positions (`start`, `end`, `at`, `heard`) are Unicode code points of the reply, not UTF-16: `[...text].length` counts
// them. Times are milliseconds on `performance.now()`.

/**
 * A voice, at once. It can speak when its `ready` resolves; what is asked of it before waits and then goes, in order.
 *
 * What is used wrongly is a `TypeError` or a `RangeError` that says what to do. What can only be told later, such as a
 * unit to replay that there is not, comes as an `error` event if it was asked for before `ready`.
 */
export function createVoice(options?: VoiceOptions): Voice;

export interface VoiceOptions {
  /** The address of the `POST /speech` that speaks; that of the server this module came from if left out. */
  speech?: string | URL;
  /** The id of the voice (`GET /voices`); the one the server prefers if left out. */
  voice?: string;
  /** The token that a server beyond loopback wants. */
  token?: string;
}

/** Speaks one reply at a time, each unit of it as one take. After `dispose()` every call does nothing. */
export interface Voice extends EventTarget {
  /** Resolves when the voice can speak; fails with what is wrong, which an `error` event tells too. */
  readonly ready: Promise<void>;

  /** Begins a new reply; nothing of the one before is read or heard any more. The very first begins by itself. */
  begin(): void;
  /** Adds text to the reply. A `RangeError` after `final()`. */
  delta(text: string): void;
  /** A tool call begins at `at`: the text before it is settled and is spoken. */
  unitEnd(at: number): void;
  /** The reply is written anew from `at`, 0 if left out: what sounds of the rest is silent now. */
  reset(at?: number): void;
  /** The reply is whole: what remains of it is the last unit. */
  final(): void;
  /**
   * Speaks the reply in the body of a Response, instead of the calls above. It is a new reply, unless the response
   * before left one unfinished, as before a tool that the page runs: then it goes on with that. Resolves when the body
   * has ended or something else has taken over. To use the body elsewhere too, pass `response.clone()`.
   */
  read(response: Response, options: { protocol: Protocol }): Promise<ReadOutcome>;

  /** Silent now, and nothing more of this reply; `heard` tells how far the listener came. Ends `read` as well. */
  stop(): void;
  /** Holds the sound. */
  pause(): void;
  /** Goes on at the very sample. */
  resume(): void;
  /** Leaves the unit that sounds, or is next to, and goes on with the one after it. */
  skip(): void;
  /** Sounds a unit again from its start: by its index, or the one that sounds or was the last to. */
  replay(unit?: number): void;
  /** From 0 to 1. */
  setVolume(volume: number): void;
  /** Silences the output while the voice goes on, or (`false`) brings it back. */
  mute(on?: boolean): void;
  /** Speaks at so many times the usual pace, from the next unit on; `speeds` of `GET /voices` says which can be. */
  setSpeed(speed: number): void;
  /** Plays on that device of `navigator.mediaDevices`, "" for the usual one. Voices of one sample rate share it. */
  setOutputDevice(device: string): Promise<void>;

  /** What the voice does. */
  readonly state: State;
  /** Up to where the reply has been heard by now. */
  readonly heard: number;

  /** All there is to see, as plain JSON, free of side effects. `anonymous` masks every word. */
  inspect(options?: { anonymous?: boolean }): Snapshot;
  /** All that happened, as JSON Lines for `onetake replay FILE`. `anonymous` masks every word. */
  trace(options?: { anonymous?: boolean }): string;
  /** Saves a file for a bug report, with every word masked, and returns its name. */
  report(): string;
  /** The end: silent now, everything is given back, and no event comes any more. */
  dispose(): void;

  addEventListener<Type extends keyof VoiceEvents>(
    type: Type,
    listener: (this: Voice, event: CustomEvent<VoiceEvents[Type]>) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void;
  removeEventListener<Type extends keyof VoiceEvents>(
    type: Type,
    listener: (this: Voice, event: CustomEvent<VoiceEvents[Type]>) => unknown,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | EventListenerOptions,
  ): void;
}

/** What the body of a response speaks; the README says where each ends its units. */
export type Protocol =
  | "onetake"
  | "openai-chat"
  | "openai-responses"
  | "anthropic-messages"
  | "ai-sdk-ui"
  | "ag-ui"
  | "ollama-chat"
  | "gemini"
  | "langgraph"
  | "open-webui";

export interface ReadOutcome {
  /** Nothing more of this reply is to come. If false, the next `read` goes on with it. */
  ended: boolean;
  /** The model waits for the page's next request, such as the result of a tool. */
  awaiting: boolean;
  /** What to send as `Last-Event-ID` for the rest of a stream that broke off, where that can be. */
  lastEventId: string | null;
}

export type State = "booting" | "idle" | "listening" | "speaking" | "paused" | "blocked" | "failed";

export type UnitState = "queued" | "synthesising" | "playing" | "done" | "failed" | "dropped";

/** The details of the events. */
export interface VoiceEvents {
  /** A unit's state has changed. `pieces` is what to show of it, each with its place in the reply. */
  unit: {
    generation: number;
    index: number;
    start: number;
    end: number;
    text: string;
    emotion: string | null;
    state: UnitState;
    pieces: { kind: "text" | "direction"; text: string; start: number }[];
  };
  /** The reply has been heard up to `at`; at most every 50 ms. */
  heard: { at: number };
  /** The voice does something else; `stopped` if the reply was stopped. */
  state: { state: State; stopped: boolean };
  /** What is being said now has another emotion, or none. */
  emotion: { emotion: string | null };
  /** What stood from `at` on is void: a reply begins (`generation` 1) or is written anew. */
  reset: { at: number; generation: number };
  /** A unit (its index), the reply or the voice (null) failed. Goes to the console, unless it is prevented. */
  error: { code: string; message: string; unit: number | null };
}

/** What `inspect()` returns; the README explains the fields. */
export interface Snapshot {
  version: string | null;
  generation: number;
  state: State;
  cursor: number;
  length: number;
  final: boolean;
  heard: number;
  units: {
    generation: number;
    index: number;
    start: number;
    end: number;
    text: string;
    emotion: string | null;
    state: UnitState;
    requests: number;
    frames_received: number;
    frames_played: number;
    rate: number;
    heard: number;
    error: { code: string; message: string } | null;
    times: {
      closed: number | null;
      requested: number | null;
      first_byte: number | null;
      first_sound: number | null;
      ended: number | null;
    };
  }[];
  counts: {
    syntheses: number;
    stale_dropped: number;
    underruns: number;
    errors: number;
    live_proxies: number;
    live_nodes: number;
    live_buffers: number;
    live_listeners: number;
    live_timers: number;
    live_fetches: number;
  };
  audio: {
    state: string | null;
    sample_rate: number | null;
    base_latency: number | null;
    output_latency: number | null;
  };
  boot: {
    ready_ms: number | null;
    from_snapshot: boolean;
    snapshot_failures: string[];
    phases: Record<string, number>;
  };
  floor: { sent: number | null; first_delta: number | null; chars_per_second: number | null };
}

/** `<onetake-voice speech voice token lang>`: a voice with a bar to steer it by, and captions of what it says. */
export class OnetakeVoice extends HTMLElement {
  /** The voice; null while the element is in no document. It is disposed of when the element leaves it. */
  get voice(): Voice | null;
}

declare global {
  interface HTMLElementTagNameMap {
    "onetake-voice": OnetakeVoice;
  }
}
