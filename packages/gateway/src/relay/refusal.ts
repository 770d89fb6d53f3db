type ReceivedHeaders = Record<string, string | string[] | undefined>;

const mostBytes = 64 * 1024;

/** An upstream's answer that is no reply: its status and, as far as they are kept, its words. */
export class Refusal {
  readonly status: number;
  readonly headers: Record<string, string> = {};
  readonly #pieces: Uint8Array[] = [];
  #size = 0;

  constructor(status: number, headers: ReceivedHeaders) {
    this.status = status;
    for (const [name, value] of Object.entries(headers))
      if (value !== undefined) this.headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }

  push(bytes: Uint8Array): void {
    if (this.#size >= mostBytes) return;
    this.#size += bytes.length;
    this.#pieces.push(bytes);
  }

  /** All that is kept of it has come. */
  get isFull(): boolean {
    return this.#size >= mostBytes;
  }

  /** JSON where it is JSON. */
  get body(): unknown {
    const text = Buffer.concat(this.#pieces).subarray(0, mostBytes).toString("utf8");
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
}
