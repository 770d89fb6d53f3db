import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";

export interface ServedRecording {
  body: Uint8Array;
  /** True for a JSON reply, false for a stream. */
  isJson: boolean;
  /** True to send it in many writes that ignore event boundaries. */
  isSplit: boolean;
}

/** An upstream server with one model per recording. */
export class RecordingServer {
  readonly #recordings = new Map<string, ServedRecording>();
  #count = 0;
  readonly #server = createServer((request, response) => {
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => (text += chunk));
    request.on("end", () => {
      // A request without a body lists the models.
      const { model } = JSON.parse(text || '{"model":""}') as { model: string };
      const recording = this.#recordings.get(model);
      if (recording === undefined)
        response.writeHead(404).end(`{"error":{"message":"no ${model}"}}`);
      else void sendRecording(response, recording);
    });
  });

  async listen(port: number): Promise<void> {
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
  }

  /** Adds a recording and returns the name of the model that serves it. */
  add(recording: ServedRecording): string {
    this.#count += 1;
    const name = `recording-${this.#count}`;
    this.#recordings.set(name, recording);
    return name;
  }

  remove(name: string): void {
    this.#recordings.delete(name);
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

async function sendRecording(response: ServerResponse, recording: ServedRecording): Promise<void> {
  const { body, isJson, isSplit } = recording;
  response.writeHead(200, { "content-type": isJson ? "application/json" : "text/event-stream" });
  const size = isSplit ? Math.max(101, Math.ceil(body.length / 50)) : Math.max(1, body.length);
  for (let offset = 0; offset < body.length; offset += size) {
    response.write(body.subarray(offset, offset + size));
    // Wait so that the client receives separate reads.
    if (isSplit) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  response.end();
}
