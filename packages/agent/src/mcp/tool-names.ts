import { createHash } from "node:crypto";

/** The limit of most providers for the name of a tool. */
const maxToolNameLength = 64;
const hashLength = 8;

/**
 * Returns the names under which models call the tools of a server, by the names that the server uses: `server__tool`, in
 * characters that every provider accepts. They do not depend on the order of the list, so that earlier calls in a history stay
 * valid when it changes.
 */
export function buildToolNames(server: string, toolNames: readonly string[]): Map<string, string> {
  const sanitizedNames = new Map(
    toolNames.map((name) => [name, sanitizeName(`${server}__${name}`)]),
  );
  const nameCounts = new Map<string, number>();
  for (const name of sanitizedNames.values()) nameCounts.set(name, (nameCounts.get(name) ?? 0) + 1);
  return new Map(
    [...sanitizedNames].map(([name, sanitizedName]) => {
      const isUnambiguous =
        sanitizedName === `${server}__${name}` || nameCounts.get(sanitizedName) === 1;
      return [
        name,
        isUnambiguous && sanitizedName.length <= maxToolNameLength
          ? sanitizedName
          : appendHash(sanitizedName, name),
      ];
    }),
  );
}

function sanitizeName(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_").replace(/^(?=[\d-])/, "_");
}

function appendHash(sanitizedName: string, name: string): string {
  const hash = createHash("sha256").update(name).digest("hex").slice(0, hashLength);
  return `${sanitizedName.slice(0, maxToolNameLength - hashLength - 1)}_${hash}`;
}
