import { createReadStream } from "node:fs";
import { mkdtemp, open, rm, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MultipartFieldFinder, type FieldMatch } from "./multipart-field-finder.ts";

/** What precedes the model field is buffered in memory up to this size, then on disk. */
const maxMemoryBytes = 1024 * 1024;

/** Reads a multipart body until the field `model` is found, and buffers the bytes read so far. */
export class BufferedBody {
  readonly #source: AsyncIterator<Buffer>;
  readonly #finder: MultipartFieldFinder;
  readonly #memoryChunks: Buffer[] = [];
  #size = 0;
  #folder: string | undefined;
  #file: FileHandle | undefined;

  constructor(source: AsyncIterable<Buffer>, boundary: string) {
    this.#source = source[Symbol.asyncIterator]();
    this.#finder = new MultipartFieldFinder(boundary, "model");
  }

  /** Reads until the field `model` is complete. Returns undefined if the body has none. */
  async findModel(): Promise<FieldMatch | undefined> {
    while (this.#finder.match === undefined) {
      const { value, done } = await this.#source.next();
      if (done === true) break;
      this.#finder.push(value);
      await this.#buffer(value);
    }
    return this.#finder.match;
  }

  /** Yields the complete body, with the value of `model` replaced, or unchanged if `model` is undefined. */
  async *replaceModel(model: string | undefined): AsyncGenerator<Buffer> {
    const { match } = this.#finder;
    let offset = 0;
    for await (const chunk of this.#readBuffered()) {
      if (match === undefined || model === undefined) yield chunk;
      else yield* replaceField(chunk, offset, match, model);
      offset += chunk.length;
    }
    for (;;) {
      const { value, done } = await this.#source.next();
      if (done === true) return;
      yield value;
    }
  }

  /** Stops reading and deletes the temporary file. */
  async release(): Promise<void> {
    // Not awaited: the rest of the body may never arrive.
    this.#source.return?.().catch(() => undefined);
    await this.#file?.close();
    if (this.#folder !== undefined) await rm(this.#folder, { recursive: true, force: true });
  }

  async #buffer(bytes: Buffer): Promise<void> {
    this.#size += bytes.length;
    if (this.#file === undefined && this.#size <= maxMemoryBytes) {
      this.#memoryChunks.push(bytes);
      return;
    }
    this.#file ??= await this.#openFile();
    await this.#file.appendFile(bytes);
  }

  async #openFile(): Promise<FileHandle> {
    this.#folder = await mkdtemp(join(tmpdir(), "deltawire-"));
    return open(join(this.#folder, "body"), "wx", 0o600);
  }

  async *#readBuffered(): AsyncGenerator<Buffer> {
    yield* this.#memoryChunks;
    if (this.#folder === undefined) return;
    yield* createReadStream(join(this.#folder, "body")) as AsyncIterable<Buffer>;
  }
}

/** Yields a chunk with the field's value replaced. `offset`: the position of the chunk in the body. */
function* replaceField(
  chunk: Buffer,
  offset: number,
  { start, end }: FieldMatch,
  model: string,
): Generator<Buffer> {
  const valueStart = Math.max(0, Math.min(chunk.length, start - offset));
  const valueEnd = Math.max(0, Math.min(chunk.length, end - offset));
  if (valueStart > 0) yield chunk.subarray(0, valueStart);
  // The old value may span chunks, but only one of them contains its start.
  if (start >= offset && start < offset + chunk.length) yield Buffer.from(model);
  if (valueEnd < chunk.length) yield chunk.subarray(valueEnd);
}
