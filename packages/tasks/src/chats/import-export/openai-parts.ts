import { assertNever } from "../../error.ts";
import { blobPath } from "../../blobs.ts";
import { isPlainObject, createProblem } from "../value-checks.ts";
import type { Attachment, ContextSnippet } from "../chat-types.ts";
import {
  readBlob,
  decodedByteLength,
  dataUrlToBlob,
  isBase64,
  blobToDataUrl,
} from "./file-blobs.ts";
import { parseContext, formatContext } from "./context-text.ts";
import type { BlobReader, FileBlob, ImportEnvironment } from "./import-types.ts";

/** A part of a user message. `input_audio.url` and `file.file_url` are extensions, for media that are not available as blobs. */
export type OpenAiPart =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } }
  | { type: "input_audio"; input_audio: { data: string; format: string } | { url: string } }
  | { type: "file"; file: { filename?: string; file_data?: string; file_url?: string } };

export interface PromptContent {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  readonly contexts: readonly ContextSnippet[];
}

/** Returns the contexts, the text and the attachments as parts, in this order. Returns a string if there is only text. */
export function toOpenAiContent(prompt: PromptContent, blobs: BlobReader): string | OpenAiPart[] {
  const { text, attachments, contexts } = prompt;
  if (attachments.length === 0 && contexts.length === 0) return text;
  return [
    ...contexts.map((context): OpenAiPart => ({ type: "text", text: formatContext(context) })),
    ...(text === "" ? [] : [{ type: "text", text } as const]),
    ...attachments.map((attachment) => toOpenAiPart(attachment, blobs)),
  ];
}

function toOpenAiPart({ kind, url, filename }: Attachment, blobs: BlobReader): OpenAiPart {
  const blob = readBlob(url, blobs);
  const matchesKind = blob?.media_type.startsWith(`${kind}/`) === true;
  switch (kind) {
    case "image":
      return { type: "image_url", image_url: { url: matchesKind ? blobToDataUrl(blob) : url } };
    case "audio":
      return {
        type: "input_audio",
        input_audio: matchesKind
          ? { data: blob.base64, format: toAudioFormat(blob.media_type) }
          : { url },
      };
    case "file":
      return {
        type: "file",
        file: {
          ...(filename === undefined ? {} : { filename }),
          ...(blob === undefined ? { file_url: url } : { file_data: blobToDataUrl(blob) }),
        },
      };
    default:
      return assertNever(kind);
  }
}

const audioTypes = new Map([
  ["mp3", "audio/mpeg"],
  ["m4a", "audio/mp4"],
]);

function toAudioFormat(mediaType: string): string {
  for (const [format, type] of audioTypes) if (type === mediaType) return format;
  return mediaType.slice(mediaType.indexOf("/") + 1);
}

/** Reads the content of imported messages; inline media become blobs. */
export class PartReader {
  readonly blobs: Record<string, FileBlob> = {};
  readonly #environment: ImportEnvironment;
  readonly #problems: string[];

  /** Problems are appended to `problems`. */
  constructor(environment: ImportEnvironment, problems: string[]) {
    this.#environment = environment;
    this.#problems = problems;
  }

  /** Reads a user message. Multiple text parts are joined. */
  readPrompt(content: unknown, path: string): PromptContent {
    if (typeof content === "string") return { text: content, attachments: [], contexts: [] };
    const texts: string[] = [];
    const attachments: Attachment[] = [];
    const contexts: ContextSnippet[] = [];
    if (!Array.isArray(content)) this.#addProblem(path, "must be a string or a list of parts");
    else
      for (const [index, part] of content.entries()) {
        const partPath = `${path}[${index}]`;
        const text = isPlainObject(part) && part["type"] === "text" ? part["text"] : undefined;
        const context = typeof text === "string" ? parseContext(text) : undefined;
        if (context !== undefined) contexts.push(context);
        else if (typeof text === "string") texts.push(text);
        else {
          const attachment = this.#parseAttachment(part);
          if (typeof attachment === "string") this.#addProblem(partPath, attachment);
          else attachments.push(attachment);
        }
      }
    return { text: texts.join("\n\n"), attachments, contexts };
  }

  /** Reads a message of another role, which may only contain text. */
  readText(content: unknown, path: string): string {
    if (content === null || content === undefined) return "";
    if (typeof content === "string") return content;
    if (!Array.isArray(content)) {
      this.#addProblem(path, "must be a string or a list of parts");
      return "";
    }
    return content
      .map((part: unknown, index) => {
        const { text, refusal } = isPlainObject(part) ? part : {};
        if (typeof text === "string") return text;
        if (typeof refusal === "string") return refusal;
        this.#addProblem(`${path}[${index}]`, "must be a text part");
        return "";
      })
      .join("\n\n");
  }

  #addProblem(path: string, problem: string): void {
    this.#problems.push(...createProblem(path, problem));
  }

  /** Returns the attachment, or a string that describes the problem. */
  #parseAttachment(part: unknown): Attachment | string {
    if (!isPlainObject(part)) return "must be an object";
    switch (part["type"]) {
      case "image_url": {
        const image = part["image_url"];
        return this.#fromUrl("image", isPlainObject(image) ? image["url"] : image, "image_url.url");
      }
      case "input_audio": {
        const { data, format, url } = isPlainObject(part["input_audio"]) ? part["input_audio"] : {};
        if (typeof url === "string") return this.#fromUrl("audio", url, "input_audio.url");
        if (typeof data !== "string" || !isBase64(data)) return "input_audio.data must be base64";
        if (typeof format !== "string" || !/^[\w.+-]{1,50}$/.test(format))
          return "input_audio.format must name a format, such as mp3";
        const media_type = audioTypes.get(format) ?? `audio/${format.toLowerCase()}`;
        return this.#fromBlob("audio", { media_type, base64: data });
      }
      case "file": {
        const { filename, file_data, file_url } = isPlainObject(part["file"]) ? part["file"] : {};
        const nameField = typeof filename === "string" ? { filename } : {};
        if (typeof file_data !== "string" && typeof file_url !== "string")
          return "file.file_data is missing; file_id is not supported";
        const file =
          typeof file_data === "string" && isBase64(file_data)
            ? this.#fromBlob("file", {
                media_type: guessMediaType(nameField.filename),
                base64: file_data,
              })
            : typeof file_data === "string"
              ? this.#fromUrl("file", file_data, "file.file_data")
              : this.#fromUrl("file", file_url, "file.file_url");
        return typeof file === "string" ? file : { ...file, ...nameField };
      }
      case "text":
        return "text must be a string";
      default:
        return "type must be text, image_url, input_audio or file";
    }
  }

  #fromUrl(kind: Attachment["kind"], url: unknown, name: string): Attachment | string {
    if (typeof url !== "string") return `${name} must be a string`;
    if (/^https?:\/\//i.test(url) || url.startsWith(blobPath)) return { kind, url };
    const blob = dataUrlToBlob(url);
    return blob === undefined
      ? `${name} must be an http: or https: URL, or a base64 data: URL`
      : this.#fromBlob(kind, blob);
  }

  #fromBlob(kind: Attachment["kind"], blob: FileBlob): Attachment {
    const hash = this.#environment.hashBlob(blob.base64);
    const storedBlob = (this.blobs[hash] ??= blob);
    return {
      kind,
      url: `${blobPath}${hash}`,
      media_type: storedBlob.media_type,
      size: decodedByteLength(blob.base64),
    };
  }
}

function guessMediaType(filename: string | undefined): string {
  return filename?.toLowerCase().endsWith(".pdf") === true
    ? "application/pdf"
    : "application/octet-stream";
}
