import { Buffer, isUtf8 } from "node:buffer";
import { parseDataUrl } from "@deltawire/tasks";
import type { Vault } from "./vault.ts";

/** The complete URL is parsed: a part that is not parsed would not be masked. */
const unlimitedHeadLength = Infinity;
const textMediaTypes =
  /^(?:|text\/.*|.*[/+.-](?:json|xml|yaml|x-yaml|toml|csv|javascript|typescript|ecmascript|sql|graphql|x-sh|x-httpd-php|x-www-form-urlencoded|rtf|markdown|x-ndjson|jsonl|html))$/i;

/** Masks the content of a `data:` URL with a text type. Returns other `data:` URLs unchanged. */
export function* maskDataUrl(url: string, vault: Vault): Generator<void, string> {
  const dataUrl = parseDataUrl(url, unlimitedHeadLength);
  if (dataUrl === undefined || !dataUrl.isBase64 || !isUnbrokenBase64(dataUrl.body))
    return yield* vault.maskSteps(url);
  const { prefix, mediaType, body } = dataUrl;
  yield;
  return textMediaTypes.test(mediaType) ? prefix + (yield* maskBase64(body, vault)) : url;
}

/** Masks the `file_data` of an input file: a `data:` URL, or bare base64 of unknown type. */
export function* maskFileData(data: string, vault: Vault): Generator<void, string> {
  if (data.startsWith("data:")) {
    const dataUrl = parseDataUrl(data, unlimitedHeadLength);
    // Browsers report this type for many text files.
    return dataUrl?.isBase64 &&
      dataUrl.mediaType === "application/octet-stream" &&
      isTextContent(dataUrl.body)
      ? dataUrl.prefix + (yield* maskBase64(dataUrl.body, vault))
      : yield* maskDataUrl(data, vault);
  }
  if (!/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(data)) return yield* vault.maskSteps(data);
  yield;
  return isTextContent(data) ? yield* maskBase64(data, vault) : data;
}

/** True for base64 without whitespace. Text with whitespace may be prose. */
export function isUnbrokenBase64(text: string): boolean {
  return /^[A-Za-z0-9+/_-]*={0,2}$/.test(text);
}

function isTextContent(base64: string): boolean {
  const bytes = Buffer.from(base64, "base64");
  return !bytes.includes(0) && isUtf8(bytes);
}

/** Masks the decoded text and encodes it as before. Unknown encodings are decoded byte by byte, which is lossless. */
function* maskBase64(base64: string, vault: Vault): Generator<void, string> {
  const bytes = Buffer.from(base64, "base64");
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe ? "utf16le" : isUtf8(bytes) ? "utf8" : "latin1";
  const text = bytes.toString(encoding);
  yield;
  const masked = yield* vault.maskSteps(text);
  return masked === text ? base64 : Buffer.from(masked, encoding).toString("base64");
}
