import { connect } from "node:net";

/*
 * Many clients in a process of their own, so that what they cost is not in the measures of the server. Each sends one
 * request. Tells its parent when all have a reply, and when all connections have ended.
 */

export interface Crowd {
  port: number;
  count: number;
  /** Of the request, with `#` for the number of the client. */
  text: string;
  /** What a complete reply has among its last characters. */
  last: string;
}

export type CrowdNews =
  | { is: "answered" }
  /** `statuses`: how many replies have each, or ended with an error. `complete`: how many have their end. */
  | { is: "ended"; statuses: Record<string, number>; complete: number };

if (process.send !== undefined) process.once("message", (crowd: Crowd) => start(crowd));

function start({ port, count, text, last }: Crowd): void {
  const statuses: Record<string, number> = {};
  let answered = 0;
  let ended = 0;
  let complete = 0;
  const tell = (news: CrowdNews): void => void process.send?.(news);
  for (let number = 0; number < count; number += 1) {
    const socket = connect(port, "127.0.0.1");
    let end = "";
    let status: string | undefined;
    socket.setEncoding("latin1");
    socket.on("connect", () => socket.write(text.replaceAll("#", String(number))));
    socket.on("data", (piece: string) => {
      end = (end + piece).slice(-4096);
      if (status !== undefined) return;
      status = piece.slice(9, 12);
      statuses[status] = (statuses[status] ?? 0) + 1;
      answered += 1;
      if (answered === count) tell({ is: "answered" });
    });
    socket.on("error", ({ code = "error" }: NodeJS.ErrnoException) => {
      statuses[code] = (statuses[code] ?? 0) + 1;
    });
    socket.on("close", () => {
      if (end.includes(last)) complete += 1;
      ended += 1;
      if (ended === count) tell({ is: "ended", statuses, complete });
    });
  }
}
