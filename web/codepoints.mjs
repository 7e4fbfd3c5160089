// Positions of the reply are code points; JavaScript's strings count UTF-16. This is where one becomes the other.

/** How many code points a string has. */
export function codePoints(text) {
  let count = text.length;
  for (let i = 0; i < text.length - 1; i++) if (isPair(text, i)) count--;
  return count;
}

/** Where, in UTF-16, the code point of that number begins; the end for numbers beyond it. */
export function utf16Offset(text, codePoint) {
  let at = 0;
  for (let left = codePoint; left > 0 && at < text.length; left--) at += isPair(text, at) ? 2 : 1;
  return at;
}

const isPair = (text, at) =>
  (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
