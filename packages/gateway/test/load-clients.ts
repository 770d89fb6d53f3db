import { connect } from "node:net";

/*
 * Many clients in a separate process, so that their cost is not measured with the server's. Each sends one request. Sends
 * a message to its parent when all have a reply, and when all connections have ended.
 */

export interface LoadOptions {
  port: number;
  count: number;
  /** With `#` for the number of the client. */
  text: string;
  /** Part of the last characters of a complete reply. */
  endMarker: string;
}

export type LoadReport =
  | { status: "answered" }
  /** `statuses`: number of replies by status or error. `complete`: number of complete replies. */
  | { status: "ended"; statuses: Record<string, number>; complete: number };

if (process.send !== undefined) process.once("message", (crowd: LoadOptions) => start(crowd));

function start({ port, count, text, endMarker }: LoadOptions): void {
  const statuses: Record<string, number> = {};
  let answered = 0;
  let ended = 0;
  let complete = 0;
  const report = (loadReport: LoadReport): void => void process.send?.(loadReport);
  for (let number = 0; number < count; number += 1) {
    const socket = connect(port, "127.0.0.1");
    let end = "";
    let status: string | undefined;
    socket.setEncoding("latin1");
    socket.on("connect", () => socket.write(text.replaceAll("#", String(number))));
    socket.on("data", (chunk: string) => {
      end = (end + chunk).slice(-4096);
      if (status !== undefined) return;
      status = chunk.slice(9, 12);
      statuses[status] = (statuses[status] ?? 0) + 1;
      answered += 1;
      if (answered === count) report({ status: "answered" });
    });
    socket.on("error", ({ code = "error" }: NodeJS.ErrnoException) => {
      statuses[code] = (statuses[code] ?? 0) + 1;
    });
    socket.on("close", () => {
      if (end.includes(endMarker)) complete += 1;
      ended += 1;
      if (ended === count) report({ status: "ended", statuses, complete });
    });
  }
}
