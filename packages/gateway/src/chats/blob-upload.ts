import { bareType } from "@deltawire/tasks";
import { typeOfBytes } from "../media/media-types.ts";
import { invalid } from "../parse-body.ts";

/** What a file is that somebody sent: as its sender says, else by its first bytes, else by its name. */
export function mediaTypeOfUpload({
  contentType,
  filename,
  bytes,
}: {
  contentType: string | undefined;
  filename: string | null;
  bytes: Buffer;
}): string {
  const told = bareType(contentType);
  if (told === "multipart/form-data")
    throw invalid("content-type", "expected the bytes of one file as the body, not a form");
  if (!untold.has(told)) {
    if (/^[\w.+-]+\/[\w.+-]+$/.test(told)) return told;
    throw invalid("content-type", "expected a media type such as image/png");
  }
  const extension = /\.(\w+)$/.exec(filename ?? "")?.[1]?.toLowerCase() ?? "";
  return typeOfBytes(bytes) ?? types[extension] ?? "application/octet-stream";
}

/** What clients send that were not told what it is: curl says of anything that it is a form. */
const untold = new Set(["", "application/octet-stream", "application/x-www-form-urlencoded"]);

const types: Readonly<Record<string, string>> = {
  pdf: "application/pdf",
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  html: "text/html",
  json: "application/json",
  svg: "image/svg+xml",
};
