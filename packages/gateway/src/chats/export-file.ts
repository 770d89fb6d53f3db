/** Converts a title to a file name that is valid on every operating system. */
export function toFileName(title: string, extension: string): string {
  const plain = title
    .normalize("NFC")
    .replaceAll(/[\p{C}\p{Z}\\/:*?"<>|]+/gu, " ")
    .replace(/^[. ]+/, "");
  const short = Array.from(plain)
    .slice(0, maxNameLength)
    .join("")
    .replace(/[. ]+$/, "");
  const name = short === "" || reservedNames.test(short) ? "chat" : short;
  return `${name}.${extension}`;
}

const maxNameLength = 80;
/** Reserved on Windows, with any extension. */
const reservedNames = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** Returns the header value of RFC 6266: an ASCII version of the name, then the exact name for clients that support `filename*`. */
export function formatContentDisposition(name: string): string {
  const ascii = name.replaceAll(/[^\x20-\x7e]+/g, "_").replaceAll(/["\\%]/g, "_");
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*!]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${encoded}`;
}

/** Blocks scripts and all network requests. */
export const exportContentSecurityPolicy =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:";
