import { unreachable } from "../../error.ts";
import { blobPath } from "../../blobs.ts";
import { isPlainObject, problem } from "../check-value.ts";
import type { Attachment, ContextSnippet } from "../shapes.ts";
import { blobAt, bytesIn, fromDataUrl, isBase64, toDataUrl } from "./blob-text.ts";
import { contextOfText, contextText } from "./context-text.ts";
import type { BlobReader, FileBlob, ImportWorld } from "./imported.ts";

/** Of a user's message. `input_audio.url` and `file.file_url` are ours, for what is not at hand as bytes. */
export type OpenAiPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } }
  | { type: "input_audio"; input_audio: { data: string; format: string } | { url: string } }
  | { type: "file"; file: { filename?: string; file_data?: string; file_url?: string } };

export interface Words {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  readonly contexts: readonly ContextSnippet[];
}

/** Contexts, then the words, then attachments; words alone are a string. */
export function contentOf(words: Words, blobs: BlobReader): string | OpenAiPart[] {
  const { text, attachments, contexts } = words;
  if (attachments.length === 0 && contexts.length === 0) return text;
  return [
    ...contexts.map((context): OpenAiPart => ({ type: "text", text: contextText(context) })),
    ...(text === "" ? [] : [{ type: "text", text } as const]),
    ...attachments.map((attachment) => partOf(attachment, blobs)),
  ];
}

function partOf({ kind, url, filename }: Attachment, blobs: BlobReader): OpenAiPart {
  const blob = blobAt(url, blobs);
  const isKind = blob?.media_type.startsWith(`${kind}/`) === true;
  switch (kind) {
    case "image":
      return { type: "image_url", image_url: { url: isKind ? toDataUrl(blob) : url } };
    case "audio":
      return {
        type: "input_audio",
        input_audio: isKind ? { data: blob.base64, format: audioFormat(blob.media_type) } : { url },
      };
    case "file":
      return {
        type: "file",
        file: {
          ...(filename === undefined ? {} : { filename }),
          ...(blob === undefined ? { file_url: url } : { file_data: toDataUrl(blob) }),
        },
      };
    default:
      return unreachable(kind);
  }
}

const audioTypes = new Map([
  ["mp3", "audio/mpeg"],
  ["m4a", "audio/mp4"],
]);

function audioFormat(mediaType: string): string {
  for (const [format, type] of audioTypes) if (type === mediaType) return format;
  return mediaType.slice(mediaType.indexOf("/") + 1);
}

/** Reads messages of others; bytes that stand in them become blobs. */
export class PartReader {
  readonly blobs: Record<string, FileBlob> = {};
  readonly #world: ImportWorld;
  readonly #problems: string[];

  /** Adds what is wrong to `problems`. */
  constructor(world: ImportWorld, problems: string[]) {
    this.#world = world;
    this.#problems = problems;
  }

  /** Of a user. Texts that stand side by side are one. */
  words(content: unknown, path: string): Words {
    if (typeof content === "string") return { text: content, attachments: [], contexts: [] };
    const texts: string[] = [];
    const attachments: Attachment[] = [];
    const contexts: ContextSnippet[] = [];
    if (!Array.isArray(content)) this.#wrong(path, "must be a string or a list of parts");
    else
      for (const [index, part] of content.entries()) {
        const at = `${path}[${index}]`;
        const text = isPlainObject(part) && part["type"] === "text" ? part["text"] : undefined;
        const context = typeof text === "string" ? contextOfText(text) : undefined;
        if (context !== undefined) contexts.push(context);
        else if (typeof text === "string") texts.push(text);
        else {
          const attachment = this.#attachment(part);
          if (typeof attachment === "string") this.#wrong(at, attachment);
          else attachments.push(attachment);
        }
      }
    return { text: texts.join("\n\n"), attachments, contexts };
  }

  /** Of anybody else: only texts. */
  text(content: unknown, path: string): string {
    if (content === null || content === undefined) return "";
    if (typeof content === "string") return content;
    if (!Array.isArray(content)) {
      this.#wrong(path, "must be a string or a list of parts");
      return "";
    }
    return content
      .map((part: unknown, index) => {
        const { text, refusal } = isPlainObject(part) ? part : {};
        if (typeof text === "string") return text;
        if (typeof refusal === "string") return refusal;
        this.#wrong(`${path}[${index}]`, "must be a part with a text");
        return "";
      })
      .join("\n\n");
  }

  #wrong(path: string, what: string): void {
    this.#problems.push(...problem(path, what));
  }

  /** Or what is wrong with it. */
  #attachment(part: unknown): Attachment | string {
    if (!isPlainObject(part)) return "must be an object";
    switch (part["type"]) {
      case "image_url": {
        const image = part["image_url"];
        return this.#fetched("image", isPlainObject(image) ? image["url"] : image, "image_url.url");
      }
      case "input_audio": {
        const { data, format, url } = isPlainObject(part["input_audio"]) ? part["input_audio"] : {};
        if (typeof url === "string") return this.#fetched("audio", url, "input_audio.url");
        if (typeof data !== "string" || !isBase64(data)) return "input_audio.data must be base64";
        if (typeof format !== "string" || !/^[\w.+-]{1,50}$/.test(format))
          return "input_audio.format must name a format, such as mp3";
        const media_type = audioTypes.get(format) ?? `audio/${format.toLowerCase()}`;
        return this.#kept("audio", { media_type, base64: data });
      }
      case "file": {
        const { filename, file_data, file_url } = isPlainObject(part["file"]) ? part["file"] : {};
        const named = typeof filename === "string" ? { filename } : {};
        if (typeof file_data !== "string" && typeof file_url !== "string")
          return "file.file_data is missing; a file_id cannot be read here";
        const file =
          typeof file_data === "string" && isBase64(file_data)
            ? this.#kept("file", { media_type: typeOfName(named.filename), base64: file_data })
            : this.#fetched("file", file_data ?? file_url, "file.file_data");
        return typeof file === "string" ? file : { ...file, ...named };
      }
      case "text":
        return "text must be a string";
      default:
        return "type must be text, image_url, input_audio or file";
    }
  }

  #fetched(kind: Attachment["kind"], url: unknown, name: string): Attachment | string {
    if (typeof url !== "string") return `${name} must be a string`;
    if (/^https?:\/\//i.test(url) || url.startsWith(blobPath)) return { kind, url };
    const blob = fromDataUrl(url);
    return blob === undefined
      ? `${name} must begin with http: or https:, or be a data: url in base64`
      : this.#kept(kind, blob);
  }

  #kept(kind: Attachment["kind"], blob: FileBlob): Attachment {
    const hash = this.#world.blobHash(blob.base64);
    const kept = (this.blobs[hash] ??= blob);
    return {
      kind,
      url: `${blobPath}${hash}`,
      media_type: kept.media_type,
      size: bytesIn(blob.base64),
    };
  }
}

function typeOfName(filename: string | undefined): string {
  return filename?.toLowerCase().endsWith(".pdf") === true
    ? "application/pdf"
    : "application/octet-stream";
}
