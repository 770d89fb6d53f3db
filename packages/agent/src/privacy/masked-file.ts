import { Buffer, isUtf8 } from "node:buffer";
import { readDataUrl } from "@deltawire/tasks";
import type { Vault } from "./vault.ts";

/** What is not read is not masked. */
const anyHead = Infinity;
const textTypes =
  /^(?:|text\/.*|.*[/+.-](?:json|xml|yaml|x-yaml|toml|csv|javascript|typescript|ecmascript|sql|graphql|x-sh|x-httpd-php|x-www-form-urlencoded|rtf|markdown|x-ndjson|jsonl|html))$/i;

/** A `data:` URL; if it holds a text, the text is masked. */
export function* maskedDataUrl(url: string, vault: Vault): Generator<void, string> {
  const read = readDataUrl(url, anyHead);
  if (read === undefined || !read.isBase64 || !isBase64(read.body))
    return yield* vault.maskSteps(url);
  const { head, mediaType, body } = read;
  yield;
  return textTypes.test(mediaType) ? head + (yield* maskedBase64(body, vault)) : url;
}

/** Of an input file: a `data:` URL, or bare base64, which may be anything. */
export function* maskedFileData(data: string, vault: Vault): Generator<void, string> {
  if (data.startsWith("data:")) {
    const read = readDataUrl(data, anyHead);
    // Browsers do not know the type of many text files.
    return read?.isBase64 && read.mediaType === "application/octet-stream" && isText(read.body)
      ? read.head + (yield* maskedBase64(read.body, vault))
      : yield* maskedDataUrl(data, vault);
  }
  if (!/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(data)) return yield* vault.maskSteps(data);
  yield;
  return isText(data) ? yield* maskedBase64(data, vault) : data;
}

/** One unbroken word of it: anything else may be words. */
export function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/_-]*={0,2}$/.test(text);
}

function isText(base64: string): boolean {
  const bytes = Buffer.from(base64, "base64");
  return !bytes.includes(0) && isUtf8(bytes);
}

/** In the encoding that the file has. One that is not known is read byte by byte, which loses nothing. */
function* maskedBase64(base64: string, vault: Vault): Generator<void, string> {
  const bytes = Buffer.from(base64, "base64");
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe ? "utf16le" : isUtf8(bytes) ? "utf8" : "latin1";
  const text = bytes.toString(encoding);
  yield;
  const masked = yield* vault.maskSteps(text);
  return masked === text ? base64 : Buffer.from(masked, encoding).toString("base64");
}
