import { crc32 } from "node:zlib";

/** A file of an upload. Only its first bytes are stored. */
export interface UploadedFile {
  field: string;
  filename: string;
  size: number;
  checksum: number;
  firstBytes: Buffer;
}

const maxFirstBytes = 64 * 1024;
const maxHeaderBytes = 8 * 1024;
const maxFieldLength = 1024;

type State =
  | { phase: "preamble" }
  | { phase: "headers" }
  | { phase: "file"; file: UploadedFile }
  | { phase: "field"; name: string; text: string }
  | { phase: "stopped" };

/**
 * Parses a `multipart/form-data` stream. Stores the size and the first bytes of files and the beginning of fields.
 * Otherwise buffers only an incomplete boundary or the headers of a part.
 */
export class MultipartParser {
  readonly files: UploadedFile[] = [];
  readonly fields = new Map<string, string>();
  readonly #boundary: Buffer;
  #state: State = { phase: "preamble" };
  #bufferedBytes: Buffer = Buffer.from("\r\n");

  constructor(boundary: string) {
    this.#boundary = Buffer.from(`\r\n--${boundary}`);
  }

  push(bytes: Uint8Array): void {
    if (this.#state.phase === "stopped") return;
    let rest = Buffer.concat([this.#bufferedBytes, bytes]);
    for (;;) {
      if (this.#state.phase === "headers") {
        const end = rest.indexOf("\r\n\r\n");
        if (end === -1 && rest.length > maxHeaderBytes) return this.#stop();
        if (end === -1) break;
        this.#state = this.#openPart(rest.subarray(0, end).toString());
        // If the part is empty, the blank line is the start of the next boundary.
        rest = rest.subarray(end + 2);
        if (!rest.subarray(0, this.#boundary.length).equals(this.#boundary))
          rest = rest.subarray(2);
        continue;
      }
      const boundaryIndex = rest.indexOf(this.#boundary);
      if (boundaryIndex === -1) {
        const safeLength = Math.max(0, rest.length - this.#boundary.length + 1);
        this.#consume(rest.subarray(0, safeLength));
        rest = rest.subarray(safeLength);
        break;
      }
      this.#consume(rest.subarray(0, boundaryIndex));
      rest = rest.subarray(boundaryIndex + this.#boundary.length);
      this.#state = { phase: "headers" };
    }
    // Copied, because a view would retain the complete network buffer.
    this.#bufferedBytes = Buffer.from(rest);
  }

  #openPart(header: string): State {
    const field = /\bname="([^"]*)"/i.exec(header)?.[1] ?? "";
    const filename = /\bfilename="([^"]*)"/i.exec(header)?.[1];
    if (filename === undefined) {
      this.fields.set(field, "");
      return { phase: "field", name: field, text: "" };
    }
    const file = { field, filename, size: 0, checksum: 0, firstBytes: Buffer.alloc(0) };
    this.files.push(file);
    return { phase: "file", file };
  }

  #consume(bytes: Buffer): void {
    if (this.#state.phase === "file") appendToFile(this.#state.file, bytes);
    if (this.#state.phase !== "field" || this.#state.text.length > maxFieldLength) return;
    this.#state.text += bytes.subarray(0, maxFieldLength).toString();
    this.fields.set(this.#state.name, this.#state.text);
  }

  #stop(): void {
    this.#state = { phase: "stopped" };
    this.#bufferedBytes = Buffer.alloc(0);
  }
}

function appendToFile(file: UploadedFile, bytes: Buffer): void {
  file.size += bytes.length;
  file.checksum = crc32(bytes, file.checksum);
  const remainingBytes = maxFirstBytes - file.firstBytes.length;
  if (remainingBytes > 0)
    file.firstBytes = Buffer.concat([file.firstBytes, bytes.subarray(0, remainingBytes)]);
}
