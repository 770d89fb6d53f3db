/** What a `data:` URL says of itself, and what it holds, as it stands there. */
export interface DataUrl {
  /** All before `body`, with its comma. */
  readonly head: string;
  /** Without its parameters; empty where it is not told, and then it is a text. */
  readonly mediaType: string;
  readonly isBase64: boolean;
  readonly body: string;
}

/**
 * RFC 2397; undefined for any other address, and for one whose head is longer than anybody's. Without an expression: one
 * that meets millions of semicolons overflows its stack.
 */
export function readDataUrl(url: string, longestHead = 1000): DataUrl | undefined {
  if (url.slice(0, scheme.length).toLowerCase() !== scheme) return undefined;
  const comma = url.indexOf(",");
  if (comma === -1 || comma > longestHead) return undefined;
  const about = url.slice(scheme.length, comma);
  const last = about.lastIndexOf(";");
  return {
    head: url.slice(0, comma + 1),
    mediaType: bareType(about),
    isBase64:
      last !== -1 &&
      about
        .slice(last + 1)
        .trim()
        .toLowerCase() === "base64",
    body: url.slice(comma + 1),
  };
}

const scheme = "data:";

/** Without its parameters, in lower case; empty where there is none. */
export function bareType(mediaType = ""): string {
  const [type = ""] = mediaType.split(";", 1);
  return type.trim().toLowerCase();
}
