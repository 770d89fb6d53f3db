/*
 * What no reply and no log line may contain: keys and tokens, even parts of them, and internals of the gateway.
 */

/** A part of a secret of this length is a leak. */
const partLength = 8;

/** Finds secrets, and parts of them, in texts. */
export class SecretScanner {
  readonly #parts: { name: string; part: string }[] = [];

  constructor(secrets: Readonly<Record<string, string>>) {
    for (const [name, secret] of Object.entries(secrets))
      for (let index = 0; index + partLength <= secret.length; index += 1)
        this.#parts.push({ name, part: secret.slice(index, index + partLength) });
  }

  /** Returns the names of the secrets in a text. */
  findLeaks(text: string): string[] {
    const matches = this.#parts.filter(({ part }) => text.includes(part));
    return [...new Set(matches.map(({ name }) => name))].map((name) => {
      const { part = "" } = matches.find((candidate) => candidate.name === name) ?? {};
      const index = text.indexOf(part);
      return `${name} leaks: …${text.slice(Math.max(0, index - 80), index + 60)}…`;
    });
  }
}

const internalPatterns = [
  /\n\s+at [^\n]{1,200}:\d+:\d+/,
  /node:internal\//,
  /packages\/\w+\/src\//,
];

/** Returns a fault for each kind of stack trace or source path in a reply. */
export function findInternals(text: string): string[] {
  return internalPatterns.flatMap((pattern) => {
    const match = pattern.exec(text)?.[0];
    return match === undefined
      ? []
      : [`the reply reveals internals of the gateway: ${match.trim()}`];
  });
}

/** Creates a secret without parts that occur in ordinary texts, the same for the same name. */
export function createSecret(name: string): string {
  let state = 2166136261;
  const next = (): number => {
    state = Math.imul(state ^ (state >>> 13), 16777619) >>> 0;
    return (state = (state + 0x9e3779b9) >>> 0);
  };
  for (const letter of name) state = Math.imul(state ^ letter.charCodeAt(0), 16777619) >>> 0;
  const letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
  return `sk-${Array.from({ length: 36 }, () => letters[(next() >>> 7) % letters.length]).join("")}`;
}
