/** One stream as text, before chunked encoding. Its end repeats the deltas, including the times at which they were sent. */
export interface WrittenStream {
  opening: string;
  chunks: string[];
  closing: (stamps: readonly number[]) => string;
}

/**
 * Each delta ends in `@00012.0001234567;`: its number, which reveals lost, duplicate or reordered deltas, and the
 * microsecond at which it was sent.
 */
export const stampDigits = 10;
export const numberDigits = 5;
const stampRange = 10 ** stampDigits;
export const noStamp = "#".repeat(stampDigits);

/** The expected bytes before the stamp of each delta, one character per byte. */
export function expectedDeltas(kind: "text" | "tools", chunks: number): string[] {
  return Array.from({ length: chunks }, (_, nth) => {
    const token = kind === "text" ? getToken(nth) : escapeJson(getToken(nth));
    return Buffer.from(escapeJson(token)).toString("latin1");
  });
}

export function formatTextDelta(nth: number, stamp?: number): string {
  return getToken(nth) + stampText(nth, stamp);
}

/** A piece of the JSON `{"content":"…"}`. */
export function formatArgumentsDelta(nth: number, stamp?: number): string {
  return escapeJson(getToken(nth)) + stampText(nth, stamp);
}

function stampText(nth: number, stamp?: number): string {
  const time = stamp === undefined ? noStamp : String(stamp).padStart(stampDigits, "0");
  return `@${String(nth).padStart(numberDigits, "0")}.${time};`;
}

/** Most tokens are words; about every twelfth needs escapes or more than one byte per character. */
function getToken(nth: number): string {
  return tokens[nth % tokens.length] ?? "";
}

const tokens = [
  ..." the stream of words goes on as a model writes it:".split(/(?= )/),
  "\n\n",
  ..." and so a reader sees one after another, with some code".split(/(?= )/),
  ' "name"',
  ..." between and some text in other languages such as".split(/(?= )/),
  "流式传输",
  " é",
];

function escapeJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

export function listNumbersTo(count: number): number[] {
  return Array.from({ length: count }, (_, nth) => nth);
}

export function putStamp(bytes: Buffer, index: number, stamp: number): void {
  let rest = stamp;
  for (let digit = index + stampDigits - 1; digit >= index; digit -= 1) {
    bytes[digit] = 48 + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}

/** Returns a clock in microseconds that all processes of one machine share. Wraps around after `stampDigits` digits. */
export function createSharedClock(): () => number {
  const offset = Number(process.hrtime.bigint()) / 1e6 - performance.now();
  return () => Math.round((performance.now() + offset) * 1000) % stampRange;
}

/** Microseconds from one reading of the shared clock to a later one. */
export function microsecondsBetween(before: number, after: number): number {
  return (after - before + stampRange) % stampRange;
}

export const toolName = "write_file";
export const callIds = ["call_0xKq7Zt3Wm9Pv5RbYc1Ld", "call_1aSw2Ed4Rf6Tg8Yh0Uj3"];
export const argumentsOpening = '{"content":"';
export const argumentsClosing = '"}';
