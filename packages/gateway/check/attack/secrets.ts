/*
 * What no reply and no line of the log may hold: keys and tokens, also a part of one, and the insides of the gateway.
 */

/** A part of a secret that is as long as this is a leak. */
const shortestPart = 8;

/** Finds secrets, and parts of them, in texts. */
export class SecretWatch {
  readonly #parts: { name: string; part: string }[] = [];

  constructor(secrets: Readonly<Record<string, string>>) {
    for (const [name, secret] of Object.entries(secrets))
      for (let at = 0; at + shortestPart <= secret.length; at += 1)
        this.#parts.push({ name, part: secret.slice(at, at + shortestPart) });
  }

  /** The names of the secrets that are in a text. */
  leaks(text: string): string[] {
    const found = this.#parts.filter(({ part }) => text.includes(part));
    return [...new Set(found.map(({ name }) => name))].map((name) => {
      const { part = "" } = found.find((one) => one.name === name) ?? {};
      const at = text.indexOf(part);
      return `${name} leaks: …${text.slice(Math.max(0, at - 80), at + 60)}…`;
    });
  }
}

const insides = [/\n\s+at [^\n]{1,200}:\d+:\d+/, /node:internal\//, /packages\/\w+\/src\//];

/** Stack traces and paths of the source in a reply. */
export function insidesIn(text: string): string[] {
  return insides.flatMap((pattern) => {
    const found = pattern.exec(text)?.[0];
    return found === undefined ? [] : [`the reply shows the gateway's insides: ${found.trim()}`];
  });
}

/** A secret without any part that is in ordinary texts, the same for the same name. */
export function secretFor(name: string): string {
  let state = 2166136261;
  const next = (): number => {
    state = Math.imul(state ^ (state >>> 13), 16777619) >>> 0;
    return (state = (state + 0x9e3779b9) >>> 0);
  };
  for (const letter of name) state = Math.imul(state ^ letter.charCodeAt(0), 16777619) >>> 0;
  const letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
  return `sk-${Array.from({ length: 36 }, () => letters[(next() >>> 7) % letters.length]).join("")}`;
}
