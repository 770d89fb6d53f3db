import { mediaTypeEssence } from "@deltawire/tasks";
import { detectMediaType } from "../media/media-types.ts";
import { invalidRequest } from "../parse-body.ts";

/**
 * Returns the media type of an uploaded file: the declared one, else the one detected from its bytes, else from its name.
 * Throws a GatewayError (400) if Content-Type is invalid.
 */
export function detectUploadMediaType({
  contentType,
  filename,
  bytes,
}: {
  contentType: string | undefined;
  filename: string | null;
  bytes: Buffer;
}): string {
  const declared = mediaTypeEssence(contentType);
  if (declared === "multipart/form-data")
    throw invalidRequest("content-type", "expected the bytes of one file as the body, not a form");
  if (!uninformativeTypes.has(declared)) {
    if (/^[\w.+-]+\/[\w.+-]+$/.test(declared)) return declared;
    throw invalidRequest("content-type", "expected a media type such as image/png");
  }
  const extension = /\.(\w+)$/.exec(filename ?? "")?.[1]?.toLowerCase() ?? "";
  return detectMediaType(bytes) ?? typesByExtension[extension] ?? "application/octet-stream";
}

/** Types that clients send by default: curl declares every body as a form. */
const uninformativeTypes = new Set([
  "",
  "application/octet-stream",
  "application/x-www-form-urlencoded",
]);

const typesByExtension: Readonly<Record<string, string>> = {
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  html: "text/html",
  json: "application/json",
  svg: "image/svg+xml",
};
