/** A parsed `data:` URL. `body` is not decoded. */
export interface DataUrl {
  /** Everything before `body`, including the comma. */
  readonly prefix: string;
  /** Without parameters. Empty if the URL has none, which means plain text. */
  readonly mediaType: string;
  readonly isBase64: boolean;
  readonly body: string;
}

/**
 * Parses a `data:` URL (RFC 2397). Returns undefined for any other URL, and if the header is longer than `maxHeaderLength`.
 * Does not use a regular expression: with millions of semicolons it would overflow the stack.
 */
export function parseDataUrl(url: string, maxHeaderLength = 1000): DataUrl | undefined {
  if (url.slice(0, scheme.length).toLowerCase() !== scheme) return undefined;
  const comma = url.indexOf(",");
  if (comma === -1 || comma > maxHeaderLength) return undefined;
  const header = url.slice(scheme.length, comma);
  const last = header.lastIndexOf(";");
  return {
    prefix: url.slice(0, comma + 1),
    mediaType: mediaTypeEssence(header),
    isBase64:
      last !== -1 &&
      header
        .slice(last + 1)
        .trim()
        .toLowerCase() === "base64",
    body: url.slice(comma + 1),
  };
}

const scheme = "data:";

/** Returns a media type in lower case and without its parameters; empty if there is none. */
export function mediaTypeEssence(mediaType = ""): string {
  const [type = ""] = mediaType.split(";", 1);
  return type.trim().toLowerCase();
}
