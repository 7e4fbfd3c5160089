// What is asked of a voice in a page of somebody else, looked at before it goes on its way: each error names the value,
// the rule and the next step. A wrong type is a TypeError, a value out of range a RangeError.

const OPTIONS = ["speech", "voice", "token"];

const written = (value) => {
  if (typeof value === "string") return JSON.stringify(value.length > 20 ? `${value.slice(0, 20)}…` : value);
  return typeof value === "object" && value !== null ? `a ${value.constructor?.name ?? "object"}` : String(value);
};

/** The options of `createVoice` as they will be used. `server` is where `speech` is if they do not say. */
export function checkedOptions(options, server) {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`createVoice(${written(options)}): pass an object of ${OPTIONS.join(", ")}, or nothing`);
  }
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`createVoice: there is no option “${unknown}”; there is: ${OPTIONS.join(", ")}`);
  }
  const { speech = `${server}speech`, voice = null, token = null } = options;
  for (const [name, value] of Object.entries({ voice, token })) {
    if (value !== null && typeof value !== "string") {
      throw new TypeError(`createVoice: ${name} is ${written(value)}, but must be a string; leave it out for none`);
    }
  }
  const url = parsed(speech);
  if (!/^https?:$/.test(url?.protocol ?? "")) {
    throw new TypeError(`createVoice: speech is ${written(speech)}: pass the address of a POST /speech`);
  }
  return { speech: url, voice, token };
}

function parsed(address) {
  try {
    return new URL(address, document.baseURI);
  } catch {
    return null;
  }
}

export function checkText(call, text) {
  if (typeof text === "string") return;
  throw new TypeError(`${call}(${written(text)}): the text must be a string; decode bytes and unpack objects first`);
}

/** `rule` says what the number stands for. */
function checkCount(call, value, rule) {
  if (typeof value !== "number") throw new TypeError(`${call}(${written(value)}): pass a number, ${rule}`);
  if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${call}(${value}): from 0 on, ${rule}`);
}

export const checkPlace = (call, at) =>
  checkCount(call, at, "code points from the start of the reply: [...text].length counts them");

export const checkIndex = (call, unit) => checkCount(call, unit, "the index of a unit: a unit event tells it");

export function checkNumber(call, value) {
  if (typeof value === "number") return;
  throw new TypeError(`${call}(${written(value)}): pass a number; Number(…) makes one of a field's value`);
}

export function checkProtocol(protocol) {
  if (typeof protocol === "string") return;
  throw new TypeError(`read(…, {protocol: ${written(protocol)}}): name what the body speaks, such as "openai-chat"`);
}

export function checkResponse(response) {
  if (typeof response?.then === "function") {
    throw new TypeError("read(a Promise): pass the Response itself, read(await fetch(…), …)");
  }
  if (!(response instanceof Response)) {
    throw new TypeError(`read(${written(response)}): pass the Response of a fetch`);
  }
  if (response.bodyUsed || response.body?.locked) {
    throw new TypeError("read: the body of this Response is being read already; pass response.clone() to one of both");
  }
}
