import type { IncomingMessage } from "node:http";

const maxSkipMs = 5000;
/** A client that sends nothing for so long waits for the reply. */
const maxSilenceMs = 250;

/** Reads the rest of a body without keeping it. Resolves at its end, at the latest after 5 s. */
export function skipBody(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(limit);
      clearTimeout(silence);
      request.off("data", skip);
      request.off("close", done);
      request.off("end", done);
      request.off("error", done);
      resolve();
    };
    const skip = (): void => void silence.refresh();
    const limit = setTimeout(done, maxSkipMs);
    const silence = setTimeout(done, maxSilenceMs);
    request.on("data", skip);
    request.on("close", done);
    request.on("end", done);
    request.on("error", done);
    request.resume();
  });
}
