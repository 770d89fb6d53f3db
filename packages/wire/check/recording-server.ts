import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";

export interface HeldRecording {
  body: Uint8Array;
  /** JSON, and no events. */
  isWhole: boolean;
  /** Cut at places that have nothing to do with its events. */
  inPieces: boolean;
}

/** An upstream whose models are recordings. */
export class RecordingServer {
  readonly #held = new Map<string, HeldRecording>();
  #count = 0;
  readonly #server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (piece: string) => (text += piece));
    request.on("end", () => {
      // It is asked for its models.
      const { model } = JSON.parse(text || '{"model":""}') as { model: string };
      const held = this.#held.get(model);
      if (held === undefined) response.writeHead(404).end(`{"error":{"message":"no ${model}"}}`);
      else void send(response, held);
    });
  });

  async listen(port: number): Promise<void> {
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
  }

  /** The model's name under which it is served from now on. */
  hold(recording: HeldRecording): string {
    this.#count += 1;
    const name = `recording-${this.#count}`;
    this.#held.set(name, recording);
    return name;
  }

  release(name: string): void {
    this.#held.delete(name);
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

async function send(response: ServerResponse, recording: HeldRecording): Promise<void> {
  const { body, isWhole, inPieces } = recording;
  response.writeHead(200, { "content-type": isWhole ? "application/json" : "text/event-stream" });
  const size = inPieces ? Math.max(101, Math.ceil(body.length / 50)) : Math.max(1, body.length);
  for (let at = 0; at < body.length; at += size) {
    response.write(body.subarray(at, at + size));
    // A pause between two writes makes two reads of them.
    if (inPieces) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  response.end();
}
