import { createHash } from "node:crypto";

/** What providers allow. */
const longest = 64;
const hashLength = 8;

/**
 * Names for the tools of a server by the server's own: `server__tool`, in letters that every provider takes. They depend
 * on the names alone, not on their order: a history stays true when the list changes.
 */
export function toolNames(server: string, own: readonly string[]): Map<string, string> {
  const plain = new Map(own.map((name) => [name, sanitized(`${server}__${name}`)]));
  const taken = new Map<string, number>();
  for (const name of plain.values()) taken.set(name, (taken.get(name) ?? 0) + 1);
  return new Map(
    [...plain].map(([name, made]) => {
      const isClear = made === `${server}__${name}` || taken.get(made) === 1;
      return [name, isClear && made.length <= longest ? made : hashed(made, name)];
    }),
  );
}

function sanitized(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_").replace(/^(?=[\d-])/, "_");
}

function hashed(made: string, name: string): string {
  const hash = createHash("sha256").update(name).digest("hex").slice(0, hashLength);
  return `${made.slice(0, longest - hashLength - 1)}_${hash}`;
}
