import type { IncomingMessage } from "node:http";

const maxDiscardMs = 5000;
/** A client that sends nothing for this long is waiting for the reply. */
const maxSilenceMs = 250;

/** Reads and discards the rest of a body. Resolves when it ends or the client pauses, after 5 s at the latest. */
export function discardBody(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(deadlineTimer);
      clearTimeout(silenceTimer);
      request.off("data", onData);
      request.off("close", finish);
      request.off("end", finish);
      request.off("error", finish);
      resolve();
    };
    const onData = (): void => void silenceTimer.refresh();
    const deadlineTimer = setTimeout(finish, maxDiscardMs);
    const silenceTimer = setTimeout(finish, maxSilenceMs);
    request.on("data", onData);
    request.on("close", finish);
    request.on("end", finish);
    request.on("error", finish);
    request.resume();
  });
}
