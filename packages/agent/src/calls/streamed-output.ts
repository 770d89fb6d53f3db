import {
  assertNever,
  blobPath,
  SurrogateJoiner,
  trimSplitSurrogates,
  type BlobStore,
  type Block,
  type ToolGroupFields,
  type ToolBlock,
  type ToolOutput,
  type ToolPart,
  type ToolResultWriter,
} from "@deltawire/tasks";
import { getErrorMessage } from "../event-text.ts";
import type { Redact } from "../redaction/redactor.ts";
import { redactToolOutput } from "../redaction/redact-tool-output.ts";
import type { FileMetadata, ImageStream, Media, StreamedBlock, ToolStream } from "../tool.ts";
import { prepareOutput } from "./prepare-output.ts";

export interface StreamedOutputOptions {
  blobs: BlobStore;
  /** Writes the blocks to the log while the tool runs. Undefined: they are only collected. */
  writer?: ToolResultWriter | undefined;
  redact?: Redact;
  /** Returns the index from which the text could be an incomplete secret. Undefined: a secret may start anywhere. */
  findSecretStart?: ((text: string) => number) | undefined;
}

/** The output that a tool streamed. The first `writtenBlocks` of its blocks are already in the log. */
export interface StreamedResult {
  output: ToolOutput;
  writtenBlocks: number;
  /** Set if part of the output could not be stored. */
  failure?: Error;
}

/** Text is flushed at most this often, because each delta is stored and sent to every subscriber. */
const flushIntervalMs = 50;
/** Maximum length of text and data blocks in the live stream; longer ones follow as a file. */
const maxLiveCharacters = 180_000;
const maxCharacters = 10_000_000;
const maxBlocks = 1_000;
/** Per image; further ones are dropped. The complete image replaces all of them. */
const maxPartials = 100;
const maxBytes = 128 * 1024 * 1024;

type MediaKind = "image" | "audio" | "file";

interface OpenText {
  readonly group: ToolGroupFields;
  readonly surrogateJoiner: SurrogateJoiner;
  /** Not yet redacted. */
  pending: string;
  /** Redacted, for the model. */
  completeText: string;
  /** The part of `completeText` that is shown to the user. */
  shownText: string;
}

/** Media that the tool has opened but not completed. */
interface OpenMedia {
  readonly kind: MediaKind;
  readonly metadata: FileMetadata;
  latestPartial: ToolBlock | undefined;
}

/**
 * Collects the blocks that a tool adds to its result while it runs. Calls take effect in order, although media must be stored
 * first. Text is buffered for a few milliseconds, so that a tool that writes single characters does not emit an event for
 * each of them.
 */
export class StreamedOutput implements ToolStream {
  readonly #options: StreamedOutputOptions;
  readonly #blocks: ToolBlock[] = [];
  readonly #parts: ToolPart[] = [];
  #text: OpenText | undefined;
  /** Group of the text that the tool's latest call appended to. `#text` may lag behind, because calls are queued. */
  #textGroup: ToolGroupFields | undefined;
  #currentMedia: OpenMedia | undefined;
  #liveCharactersLeft: number;
  #characterCount = 0;
  #byteCount = 0;
  #blockCount = 0;
  #queue: Promise<void> | undefined;
  #flushTimer: NodeJS.Timeout | undefined;
  #lastFlushAt = -Infinity;
  #hasEnded = false;
  #isStopped = false;
  #failure: Error | undefined;

  constructor(options: StreamedOutputOptions) {
    this.#options = options;
    this.#liveCharactersLeft = options.writer === undefined ? Infinity : maxLiveCharacters;
  }

  text(delta: string, group: ToolGroupFields = {}): void {
    if (typeof delta !== "string")
      throw new TypeError(`stream.text: delta must be a string, got ${typeof delta}`);
    if (this.#hasEnded || delta === "") return;
    this.#assertNoOpenMedia();
    const isNew = this.#textGroup === undefined || this.#textGroup.id !== group.id;
    this.#countUsage({ characters: delta.length, blocks: isNew ? 1 : 0 });
    this.#textGroup = group;
    this.#enqueue(() => this.#appendText(delta, group));
  }

  block(block: StreamedBlock): void {
    if (this.#hasEnded) return;
    this.#assertNoOpenMedia();
    this.#textGroup = undefined;
    switch (block.type) {
      case "text": {
        const { text, id, title, url } = block;
        if (typeof text !== "string")
          throw new TypeError(`text of a text block must be a string, got ${typeof text}`);
        this.#countUsage({ characters: text.length, blocks: 1 });
        this.#enqueue(async () => {
          await this.#closeText();
          await this.#appendText(text, pickGroup({ id, title, url }));
          await this.#closeText();
        });
        return;
      }
      case "data":
        this.#countUsage({ blocks: 1 });
        break;
      case "image":
      case "audio":
      case "file":
        this.#countUsage({ ...getMediaSize(block, block.type), blocks: 1 });
        break;
      default: {
        const { type } = block as { type?: unknown };
        throw new TypeError(
          `block type must be text, image, audio, file or data, got ${JSON.stringify(type)}`,
        );
      }
    }
    this.#enqueue(async () => {
      await this.#closeText();
      await this.#addBlock(await this.#prepareBlock(block));
    });
  }

  image(group: ToolGroupFields = {}): ImageStream {
    const media = this.#openMedia("image", group);
    let queuedImage: Media<"image"> | undefined;
    let partialCount = 0;
    return {
      partial: (image) => {
        if (!this.#isOpen(media) || partialCount >= maxPartials) return;
        this.#countUsage(getMediaSize(image, "image"));
        const isQueued = queuedImage !== undefined;
        queuedImage = image;
        if (isQueued) return;
        partialCount += 1;
        this.#enqueue(async () => {
          const latest = queuedImage;
          queuedImage = undefined;
          if (latest === undefined) return;
          const prepared = await this.#prepareBlock({ type: "image", ...latest, ...group });
          media.latestPartial = prepared.block;
          const shown = omitGroupFields(prepared.block);
          if (shown.type === "image") this.#writer?.partialImage(shown);
        });
      },
      done: (image) => this.#completeMedia(media, { type: "image", ...image, ...group }),
    };
  }

  audio(group: ToolGroupFields & { transcript?: string } = {}) {
    const media = this.#openMedia("audio", group);
    return {
      done: (audio: Media<"audio">) =>
        this.#completeMedia(media, { type: "audio" as const, ...audio, ...group }),
    };
  }

  file(metadata: FileMetadata = {}) {
    const media = this.#openMedia("file", metadata);
    return {
      done: (file: Media<"file">) =>
        this.#completeMedia(media, { type: "file" as const, ...file, ...metadata }),
    };
  }

  /** Closes open blocks. Later calls of the tool are ignored. */
  async end(): Promise<StreamedResult> {
    this.#hasEnded = true;
    const { writer } = this.#options;
    this.#enqueue(async () => {
      await this.#closeText();
      const media = this.#currentMedia;
      if (media === undefined) return;
      writer?.closeBlock();
      if (media.latestPartial !== undefined)
        this.#pushBlock(media.latestPartial, toToolPart(media.latestPartial));
      else if (writer !== undefined) this.#blocks.push(createEmptyBlock(media));
    });
    while (this.#queue !== undefined) await this.#queue;
    this.stop();
    const output = { message_content: this.#parts, block_list: this.#blocks };
    return {
      output,
      writtenBlocks: writer === undefined ? 0 : this.#blocks.length,
      ...(this.#failure === undefined ? {} : { failure: this.#failure }),
    };
  }

  /** Stops all writing, including queued blocks. */
  stop(): void {
    this.#hasEnded = true;
    this.#isStopped = true;
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
  }

  get #writer(): ToolResultWriter | undefined {
    return this.#isStopped ? undefined : this.#options.writer;
  }

  /** Runs the steps in order, synchronously if nothing is queued. Steps after a failure are skipped. */
  #enqueue(step: () => void | Promise<void>): void {
    const work = async (): Promise<void> => {
      if (this.#failure !== undefined) return;
      try {
        await step();
      } catch (error) {
        this.#failure = toError(error);
      }
    };
    if (this.#queue === undefined && this.#failure === undefined) {
      try {
        const pending = step();
        if (pending === undefined) return;
        this.#setQueue(
          pending.catch((error: unknown) => {
            this.#failure = toError(error);
          }),
        );
      } catch (error) {
        this.#failure = toError(error);
      }
    } else if (this.#queue !== undefined) this.#setQueue(this.#queue.then(work));
  }

  #setQueue(work: Promise<void>): void {
    const queue = work.finally(() => {
      if (this.#queue === queue) this.#queue = undefined;
    });
    this.#queue = queue;
  }

  #appendText(delta: string, group: ToolGroupFields): void | Promise<void> {
    if (this.#text !== undefined && this.#text.group.id !== group.id) {
      const closed = this.#closeText();
      if (closed !== undefined) return closed.then(() => this.#appendText(delta, group));
    }
    this.#text ??= {
      group,
      surrogateJoiner: new SurrogateJoiner(),
      pending: "",
      completeText: "",
      shownText: "",
    };
    this.#text.pending += this.#text.surrogateJoiner.push(delta);
    if (this.#writer === undefined || this.#flushTimer !== undefined) return;
    const waitMs = this.#lastFlushAt + flushIntervalMs - performance.now();
    if (waitMs <= 0) this.#flushText();
    else
      this.#flushTimer = setTimeout(() => {
        this.#flushTimer = undefined;
        this.#enqueue(() => this.#flushText());
      }, waitMs);
  }

  /** Emits the open text up to the point where a secret may have started. */
  #flushText(): void {
    const text = this.#text;
    if (text === undefined) return;
    const { findSecretStart, redact } = this.#options;
    const end = redact === undefined ? text.pending.length : (findSecretStart?.(text.pending) ?? 0);
    this.#emitText(text, end);
    this.#lastFlushAt = performance.now();
  }

  #emitText(text: OpenText, end: number): void {
    const { redact } = this.#options;
    const writer = this.#writer;
    const ready = text.pending.slice(0, end);
    if (ready === "") return;
    text.pending = text.pending.slice(end);
    const clean = redact?.(ready) ?? ready;
    text.completeText += clean;
    const shown =
      clean.length <= this.#liveCharactersLeft
        ? clean
        : trimSplitSurrogates(clean.slice(0, this.#liveCharactersLeft));
    this.#liveCharactersLeft -=
      clean.length <= this.#liveCharactersLeft ? clean.length : this.#liveCharactersLeft;
    if (shown === "") return;
    text.shownText += shown;
    writer?.textDelta(shown);
  }

  /** Returns undefined if it completed synchronously. */
  #closeText(): Promise<void> | undefined {
    const text = this.#text;
    if (text === undefined) return undefined;
    clearTimeout(this.#flushTimer);
    this.#flushTimer = undefined;
    text.pending += text.surrogateJoiner.end();
    this.#emitText(text, text.pending.length);
    this.#text = undefined;
    if (text.completeText === "") return undefined;
    const writer = this.#writer;
    const isTruncated = text.shownText.length < text.completeText.length;
    if (isTruncated) {
      const note = `${text.shownText === "" ? "" : "\n"}[truncated: ${text.shownText.length} of ${text.completeText.length} characters; the complete text follows as a file]`;
      text.shownText += note;
      writer?.textDelta(note);
    }
    writer?.closeBlock();
    this.#blocks.push({ type: "text", text: text.shownText, ...text.group });
    this.#parts.push({ type: "text", text: text.completeText, ...text.group });
    return isTruncated
      ? this.#addFile(text.completeText, "result.txt", "text/plain", text.group)
      : undefined;
  }

  #addBlock({ block, part }: PreparedBlock): void | Promise<void> {
    if (block.type === "data") {
      const json = JSON.stringify(block.data);
      if (json.length > this.#liveCharactersLeft) {
        this.#parts.push(part);
        const { id, title, url } = block;
        return this.#addFile(
          json,
          "result.json",
          "application/json",
          pickGroup({ id, title, url }),
        );
      }
      this.#liveCharactersLeft -= json.length;
    }
    this.#writer?.block(omitGroupFields(block));
    this.#pushBlock(block, part);
  }

  async #addFile(
    text: string,
    filename: string,
    type: string,
    group: ToolGroupFields,
  ): Promise<void> {
    const { blobs } = this.#options;
    const hash = await blobs.put(Buffer.from(text, "utf8"), `${type}; charset=utf-8`);
    const url = blobPath + hash;
    const file: ToolBlock = {
      type: "file",
      file_url: { url },
      filename,
      media_type: type,
      ...group,
    };
    this.#writer?.block(omitGroupFields(file));
    this.#blocks.push(file);
  }

  #pushBlock(block: ToolBlock, part: ToolPart): void {
    this.#blocks.push(block);
    this.#parts.push(part);
  }

  /** Stores the bytes of a block and removes its secrets. */
  async #prepareBlock(block: StreamedBlock): Promise<PreparedBlock> {
    const { blobs, redact } = this.#options;
    const output = await prepareOutput({ block_list: [block] }, blobs);
    const { block_list, message_content } =
      redact === undefined ? output : redactToolOutput(output, redact);
    const [prepared] = block_list;
    const [part] = message_content;
    if (prepared === undefined || part === undefined) throw new TypeError("the block is invalid");
    return { block: prepared, part };
  }

  #openMedia(kind: MediaKind, metadata: FileMetadata & { transcript?: string }): OpenMedia {
    const media: OpenMedia = { kind, metadata, latestPartial: undefined };
    if (this.#hasEnded) return media;
    this.#assertNoOpenMedia();
    this.#countUsage({ blocks: 1 });
    this.#textGroup = undefined;
    this.#currentMedia = media;
    this.#enqueue(async () => {
      await this.#closeText();
      const writer = this.#writer;
      const empty = omitGroupFields(createEmptyBlock(media));
      if (empty.type === "image") writer?.openImage({});
      else if (empty.type === "audio" || empty.type === "file") writer?.openMedia(empty);
    });
    return media;
  }

  #completeMedia(media: OpenMedia, block: StreamedBlock & { type: MediaKind }): void {
    if (!this.#isOpen(media)) return;
    this.#countUsage(getMediaSize(block, block.type));
    this.#currentMedia = undefined;
    this.#enqueue(async () => this.#addBlock(await this.#prepareBlock(block)));
  }

  #isOpen(media: OpenMedia): boolean {
    if (this.#hasEnded) return false;
    if (this.#currentMedia !== media) throw new Error(`this ${media.kind} is already complete`);
    return true;
  }

  #assertNoOpenMedia(): void {
    if (this.#currentMedia !== undefined)
      throw new Error(
        `call done() on the open ${this.#currentMedia.kind} before adding another block`,
      );
  }

  #countUsage({ characters = 0, bytes = 0, blocks = 0 }): void {
    this.#characterCount += characters;
    this.#byteCount += bytes;
    this.#blockCount += blocks;
    if (this.#characterCount > maxCharacters)
      throw new RangeError(`a tool may stream at most ${maxCharacters} characters`);
    if (this.#byteCount > maxBytes)
      throw new RangeError(`a tool may stream at most ${maxBytes} bytes of media`);
    if (this.#blockCount > maxBlocks)
      throw new RangeError(`a tool may stream at most ${maxBlocks} blocks`);
  }
}

interface PreparedBlock {
  block: ToolBlock;
  part: ToolPart;
}

function getMediaSize(media: object, kind: MediaKind): { bytes: number } {
  const { bytes, [`${kind}_url`]: urlField } = media as Record<string, unknown>;
  if (bytes instanceof Uint8Array) return { bytes: bytes.length };
  const url = (urlField as { url?: unknown } | undefined)?.url;
  if (typeof url !== "string")
    throw new TypeError(`this ${kind} needs bytes with a media_type, or ${kind}_url: { url }`);
  return { bytes: url.length };
}

function pickGroup({
  id,
  title,
  url,
}: { [Key in keyof ToolGroupFields]: ToolGroupFields[Key] | undefined }): ToolGroupFields {
  return {
    ...(id === undefined ? {} : { id }),
    ...(title === undefined ? {} : { title }),
    ...(url === undefined ? {} : { url }),
  };
}

function createEmptyBlock({ kind, metadata }: OpenMedia): ToolBlock {
  const url = { url: "" };
  switch (kind) {
    case "image":
      return { type: "image", image_url: url };
    case "audio":
      return { type: "audio", audio_url: url };
    case "file": {
      const { filename, media_type } = metadata;
      return {
        type: "file",
        file_url: url,
        ...(filename === undefined ? {} : { filename }),
        ...(media_type === undefined ? {} : { media_type }),
      };
    }
    default:
      return assertNever(kind);
  }
}

/** Returns the block as users see it. Its reference number is assigned when the result is complete. */
function omitGroupFields(block: ToolBlock): Block {
  const { id: _id, title: _title, url: _url, ...shown } = block;
  return shown;
}

/** Converts the latest partial image of an image that the tool did not complete. */
function toToolPart(block: ToolBlock): ToolPart {
  if (block.type === "image") return { ...block, type: "image_url" };
  return { type: "text", text: "" };
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(getErrorMessage(error));
}
