/** The name of a file that any system can keep, made of a title. */
export function fileNameOf(title: string, extension: string): string {
  const plain = title
    .normalize("NFC")
    .replaceAll(/[\p{C}\p{Z}\\/:*?"<>|]+/gu, " ")
    .replace(/^[. ]+/, "");
  const short = Array.from(plain)
    .slice(0, mostOfName)
    .join("")
    .replace(/[. ]+$/, "");
  const name = short === "" || reserved.test(short) ? "chat" : short;
  return `${name}.${extension}`;
}

const mostOfName = 80;
/** Of Windows, with any extension. */
const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/** RFC 6266: the name as it is, and before it one in ASCII for those who know no other. */
export function attachmentHeader(name: string): string {
  const ascii = name.replaceAll(/[^\x20-\x7e]+/g, "_").replaceAll(/["\\%]/g, "_");
  const whole = encodeURIComponent(name).replaceAll(
    /['()*!]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${whole}`;
}

/** It is shown without scripts, and asks nothing of anybody. */
export const pagePolicy =
  "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; media-src data:";
