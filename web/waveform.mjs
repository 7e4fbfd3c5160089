// The picture of a take: its loudest samples, drawn from the sound itself.

const SVG = "http://www.w3.org/2000/svg";
const BARS = 96;

/** The loudest sample of each of `BARS` equal stretches of the take, from 0 to 1. */
export function peaks(blocks) {
  const frames = blocks.reduce((sum, block) => sum + block.length, 0);
  const loudest = new Float32Array(BARS);
  let at = 0;
  for (const block of blocks) {
    for (const sample of block.getChannelData(0)) {
      const bar = Math.floor((at++ * BARS) / frames);
      const size = Math.abs(sample);
      if (size > loudest[bar]) loudest[bar] = size;
    }
  }
  return Array.from(loudest);
}

/** A drawing of `peaks`, an SVG element. */
export function waveform(heights) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${2 * BARS} 40`);
  svg.setAttribute("class", "wave");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  const bar = (height, i) => `M${2 * i + 1} ${(20 - 19 * height).toFixed(1)}V${(20.4 + 19 * height).toFixed(1)}`;
  path.setAttribute("d", Array.from(heights, bar).join(""));
  svg.append(path);
  return svg;
}
