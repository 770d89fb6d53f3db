import { Buffer } from "node:buffer";
import type { Vault } from "./vault.ts";

const dataUrl = /^data:(?<type>[^;,]*)(?<parameters>(?:;[^;,]*)*),/;
const textTypes =
  /^(?:|text\/.*|.*[/+.-](?:json|xml|yaml|x-yaml|toml|csv|javascript|typescript|ecmascript|sql|graphql|x-sh|x-httpd-php|x-www-form-urlencoded|rtf|markdown|x-ndjson|jsonl|html))$/i;

/** A `data:` URL; if it holds a text, the text is masked. */
export function maskedDataUrl(url: string, vault: Vault): string {
  const found = dataUrl.exec(url);
  if (found === null) return vault.mask(url);
  const { type = "", parameters = "" } = found.groups ?? {};
  if (!parameters.toLowerCase().endsWith(";base64")) return vault.mask(url);
  const [head] = found;
  const bytes = url.slice(head.length);
  if (!isBase64(bytes)) return vault.mask(url);
  return textTypes.test(type) ? head + maskedBase64(bytes, vault) : url;
}

/** Of an input file: a `data:` URL, or bare base64, which may be anything. */
export function maskedFileData(data: string, vault: Vault): string {
  if (data.startsWith("data:")) {
    const type = dataUrl.exec(data)?.groups?.["type"] ?? "";
    // Browsers do not know the type of many text files.
    return type === "application/octet-stream" && isText(data.slice(data.indexOf(",") + 1))
      ? data.slice(0, data.indexOf(",") + 1) +
          maskedBase64(data.slice(data.indexOf(",") + 1), vault)
      : maskedDataUrl(data, vault);
  }
  if (!/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(data)) return vault.mask(data);
  return isText(data) ? maskedBase64(data, vault) : data;
}

/** One unbroken word of it: anything else may be words. */
export function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/_-]*={0,2}$/.test(text);
}

function isText(base64: string): boolean {
  const bytes = Buffer.from(base64, "base64");
  return !bytes.includes(0) && bytes.toString("utf8").isWellFormed() && isUtf8(bytes);
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** In the encoding that the file has. One that is not known is read byte by byte, which loses nothing. */
function maskedBase64(base64: string, vault: Vault): string {
  const bytes = Buffer.from(base64, "base64");
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe ? "utf16le" : isUtf8(bytes) ? "utf8" : "latin1";
  const text = bytes.toString(encoding);
  const masked = vault.mask(text);
  return masked === text ? base64 : Buffer.from(masked, encoding).toString("base64");
}
