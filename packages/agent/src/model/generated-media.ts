import {
  blobPath,
  toWellFormed,
  type AudioBlock,
  type BlobStore,
  type ImageBlock,
  type MessageWriter,
  type TaskWriter,
} from "@deltawire/tasks";
import { getErrorMessage } from "../event-text.ts";
import { ModelError } from "../model.ts";

/** An image or audio clip that is being generated. It is a separate message, created on its first event. */
interface PendingMedia {
  readonly writer: MessageWriter;
  /** The latest preview, if any. */
  lastPartial: ImageBlock | undefined;
}

/** A queued write, performed as soon as the bytes are stored. */
type MediaWrite = { id: string; medium: PendingMedia } & (
  | { type: "partial"; base64: string; mediaType: string }
  | { type: "image"; base64: string; mediaType: string }
  | { type: "audio"; base64: string; mediaType: string; transcript: string | undefined }
  /** The item was not completed. */
  | { type: "abandoned" }
);

/**
 * The images and audio that the model generates in a round. Unlike text, which is written immediately, their bytes must be
 * stored before an event refers to them. Writes are therefore queued until `flush`.
 */
export class GeneratedMedia {
  readonly #task: TaskWriter;
  readonly #openItems = new Map<string, PendingMedia>();
  #pendingWrites: MediaWrite[] = [];

  constructor(task: TaskWriter) {
    this.#task = task;
  }

  get hasPendingWrites(): boolean {
    return this.#pendingWrites.length > 0;
  }

  addPartialImage(id: string, base64: string, mediaType: string): void {
    this.#pendingWrites.push({
      type: "partial",
      id,
      medium: this.#openMedia(id),
      base64,
      mediaType,
    });
  }

  addImage(id: string, base64: string, mediaType: string): void {
    this.#pendingWrites.push({ type: "image", id, medium: this.#openMedia(id), base64, mediaType });
  }

  addAudio(id: string, base64: string, mediaType: string, transcript: string | undefined): void {
    const medium = this.#openMedia(id);
    this.#pendingWrites.push({ type: "audio", id, medium, base64, mediaType, transcript });
  }

  /** Closes an item, or all items, as incomplete: the model has stopped generating them. */
  abandon(id?: string): void {
    for (const [openId, medium] of this.#openItems)
      if (id === undefined || openId === id)
        this.#pendingWrites.push({ type: "abandoned", id: openId, medium });
  }

  /** Performs the queued writes, until `signal` is aborted. */
  async flush(blobs: BlobStore, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#pendingWrites.shift();
      if (next === undefined) return;
      // Further writes to a completed item are ignored.
      if (this.#openItems.get(next.id) !== next.medium) continue;
      if (next.type === "abandoned") {
        this.#closeIncomplete(next.id, next.medium);
        continue;
      }
      const url = await storeMedia(next.base64, next.mediaType, blobs);
      if (signal.aborted) return;
      this.#write(next, url);
    }
  }

  /** Discards queued writes and closes open items as incomplete. For interrupted rounds. */
  close(): void {
    this.#pendingWrites = [];
    for (const [id, medium] of this.#openItems) this.#closeIncomplete(id, medium);
  }

  #openMedia(id: string): PendingMedia {
    const medium = this.#openItems.get(id) ?? {
      writer: this.#task.message(),
      lastPartial: undefined,
    };
    this.#openItems.set(id, medium);
    return medium;
  }

  #write(next: Exclude<MediaWrite, { type: "abandoned" }>, url: string): void {
    const { id, medium } = next;
    const image: ImageBlock = { type: "image", image_url: { url } };
    if (next.type === "partial") {
      medium.lastPartial = image;
      return medium.writer.partialImage(image);
    }
    medium.writer.block(next.type === "audio" ? createAudioBlock(url, next.transcript) : image);
    medium.writer.done();
    this.#openItems.delete(id);
  }

  /** Keeps the latest preview, or removes the message if there was none. */
  #closeIncomplete(id: string, { writer, lastPartial }: PendingMedia): void {
    this.#openItems.delete(id);
    if (lastPartial === undefined) return this.#task.retract(writer.itemId, "incomplete");
    writer.block(lastPartial);
    writer.done({ status: "incomplete" });
  }
}

async function storeMedia(base64: string, mediaType: string, blobs: BlobStore): Promise<string> {
  try {
    return blobPath + (await blobs.put(Buffer.from(base64, "base64"), mediaType));
  } catch (error) {
    const message = `could not store the model's output: ${getErrorMessage(error)}`;
    throw new ModelError("media_not_stored", message, { cause: error });
  }
}

function createAudioBlock(url: string, transcript: string | undefined): AudioBlock {
  const transcriptField = transcript === undefined ? {} : { transcript: toWellFormed(transcript) };
  return { type: "audio", audio_url: { url }, ...transcriptField };
}
