/** What OpenAI allows as a function's name; most servers copied it. */
const longest = 64;
const allowed = /^[A-Za-z0-9_-]+$/;

/** The name under which a tool is offered: its own where it may be, else a readable beginning and a hash of all of it. */
export function upstreamName(name: string, namespace?: string): string {
  const whole = namespace === undefined ? name : flatName(namespace, name);
  return whole.length <= longest && allowed.test(whole) ? whole : alias(whole);
}

/** A Chat client's own name for its tool, unless it is longer than servers take. */
export function shortName(name: string): string {
  return name.length <= longest ? name : alias(name);
}

/** A name that differs for every `whole`, also where their beginnings are the same. */
export function alias(whole: string): string {
  const hash = shortHash(whole);
  const readable = whole.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, longest - hash.length - 1);
  return `${readable}_${hash}`;
}

/** Codex's namespaces for MCP servers have ended in `__` and have not: no second pair then. */
export function flatName(namespace: string, name: string): string {
  return namespace.endsWith("__") ? namespace + name : `${namespace}__${name}`;
}

/** Letters and digits, the same for the same text on every machine: two FNV-1a over UTF-16 units. Names, not secrets. */
export function shortHash(text: string, length = 10): string {
  let low = 0x811c9dc5;
  let high = 0x9747b28c;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ (unit + index), 0x01000193);
  }
  // The last units hardly reach the high bits of FNV: mixed once more, both ways.
  low = mix(low ^ (high >>> 15));
  high = mix(high ^ (low >>> 13));
  let digits = BigInt(low >>> 0) * 0x1_0000_0000n + BigInt(high >>> 0);
  let out = "";
  for (let index = 0; index < length; index++) {
    out += alphabet[Number(digits % 62n)] ?? "0";
    digits /= 62n;
  }
  return out;
}

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

function mix(value: number): number {
  let out = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  out = Math.imul(out ^ (out >>> 13), 0xc2b2ae35);
  return out ^ (out >>> 16);
}
