// Who speaks in a page of somebody else: asked of the server that will be asked for the takes.

/** What is known of a speech server that has no list of voices: it speaks our formats and no more. */
const PLAIN = { id: null, sample_rate: 24000, concurrency: 1, audio_tags: false, speeds: [0.5, 2] };

/** What went wrong on the way to a voice; `code` is for programs. */
export class VoiceError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/**
 * The speaker of that id at the address of a `POST /speech`, or the one the server prefers; as Python wants it. Fails
 * with a `VoiceError`: no answer, a refusal in the server's own words, or no such voice.
 */
export async function findSpeaker(speech, id, token) {
  const [health, voices] = await Promise.all([
    ask(new URL("health", speech), token),
    ask(new URL("voices", speech), token),
  ]);
  const wanted = id ?? health?.voice ?? null;
  const found = voices?.find((voice) => voice.id === wanted) ?? (wanted === null ? voices?.[0] : null);
  if (voices?.length && !found) {
    const known = voices.map((voice) => voice.id).join(", ");
    throw new VoiceError("unknown_voice", `there is no voice “${wanted}” at ${speech}; name one of these: ${known}`);
  }
  const { sample_rate, concurrency, audio_tags, speeds } = found ?? PLAIN;
  const order = { speech_url: String(speech), token: token ?? null, voice: found?.id ?? wanted };
  return { ...order, sample_rate, concurrency, audio_tags, speeds };
}

/** The JSON at `url`; null if the server has none there: 404, or a page for whatever is not known to it. */
async function ask(url, token) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch(url, { headers }).catch(() => null);
  if (response === null) {
    const how = `if it runs, start it with --allow-origin ${location.origin}`;
    throw new VoiceError("server_unreachable", `${url.origin} does not answer pages of ${location.origin}; ${how}`);
  }
  const isJson = /json/.test(response.headers.get("content-type") ?? "");
  if (response.status === 404 || (response.ok && !isJson)) return null;
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  const { code = `http_${response.status}`, message = `${url} answered with status ${response.status}` } =
    answer?.error ?? {};
  throw new VoiceError(code, message);
}
